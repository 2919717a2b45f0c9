import type { z } from 'zod';
import type { EventOf } from '../../protocol/events.ts';
import type { Effect } from '../adapter.ts';

/** An item of Codex that is a tool of the agent. `result` counts once the item is over. */
export interface ToolItem {
  id: string;
  call: Pick<EventOf<'tool_call'>['payload'], 'name' | 'tool' | 'title' | 'input'>;
  result: { ok: boolean; text: string; exitCode?: number };
  edits?: EventOf<'file_edit'>['payload'][];
}

export const withParent = (parent: string | undefined) => (parent === undefined ? {} : { parent });

export function callEffect({ id, call }: ToolItem, parent?: string): Effect {
  return { do: 'emit', event: { type: 'tool_call', payload: { id, ...call, ...withParent(parent) } } };
}

export function resultEffects({ id, result, edits = [] }: ToolItem, parent?: string): Effect[] {
  const inside = withParent(parent);
  const told: Effect[] = edits.map((edit) => ({
    do: 'emit',
    event: { type: 'file_edit', payload: { ...edit, ...inside } },
  }));
  const payload = { kind: 'tool_result' as const, id, ...result, ...inside };
  return [...told, { do: 'emit', event: { type: 'progress', payload } }];
}

/** The statuses of both protocols: anything but `completed` is a failure once the item is over. */
export const isDone = (status: string): boolean => status === 'completed';

/** Undefined for an item that does not fit its schema. */
export type ToolReader = (raw: unknown) => ToolItem | undefined;

export function toolReader<S extends z.ZodType<{ id: string }>>(
  schema: S,
  read: (item: z.infer<S>) => Omit<ToolItem, 'id'>,
): ToolReader {
  return (raw) => {
    const { data } = schema.safeParse(raw);
    return data && { id: data.id, ...read(data) };
  };
}
