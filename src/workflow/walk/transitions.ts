import type { BlockDef, Gate, Json, Transition, WorkflowManifest } from '../../protocol/workflow.ts';
import { type Action, parseAction } from '../language/action.ts';
import { type Guard, holds, parseGuard, parseValue, type Scope, type Value, valueIn } from '../language/guard.ts';
import { blockIn, FAIL_DEFAULT, fallsToDefault, gateOf, parseWorker } from '../language/names.ts';

/** A block with its texts parsed. The check made sure that they can be. */
export interface ReadBlock {
  def: BlockDef;
  gate: Gate | undefined;
  transitions: ReadTransition[];
}

export interface ReadTransition {
  signal: string;
  action: Action;
  guard: Guard | undefined;
  binds: { to: string; from: string; value: Value }[];
  join: 'all' | 'any';
  isolation: 'shared' | 'worktree';
}

export function readBlock(manifest: WorkflowManifest, id: string): ReadBlock {
  const def = blockIn(manifest, id);
  if (!def) throw new TypeError(`there is no block ${id}`);
  return { def, gate: gateOf(parseWorker(def.worker)), transitions: def.transitions.map(readTransition) };
}

function readTransition({
  on_signal,
  action,
  guard,
  bind_args = [],
  join = 'all',
  isolation = 'shared',
}: Transition): ReadTransition {
  const read = parseAction(action);
  if ('error' in read) throw new TypeError(`"${action}" ${read.error}`);
  const binds = bind_args.map(({ to, from }) => ({ to, from, value: must(parseValue(from)) }));
  return {
    signal: on_signal,
    action: read,
    guard: guard === undefined ? undefined : must(parseGuard(guard)),
    binds,
    join,
    isolation,
  };
}

function must<T>(parsed: { ok: true; value: T } | { ok: false; error: string }): T {
  if (!parsed.ok) throw new TypeError(parsed.error);
  return parsed.value;
}

/** The first transition with that signal and a true guard, else the default if the signal falls to it. */
export function chooseTransition(block: ReadBlock, signal: string, scope: () => Scope): ReadTransition | undefined {
  const first = (key: string) =>
    block.transitions.find((each) => each.signal === key && (each.guard === undefined || holds(each.guard, scope())));
  return first(signal) ?? (fallsToDefault(signal) ? first(FAIL_DEFAULT) : undefined);
}

/** The values of `bind_args`; `missing` names the first that is null. */
export function bindArgs(
  { binds }: ReadTransition,
  scope: () => Scope,
): { values: Record<string, Json> } | { missing: { to: string; from: string } } {
  const values: Record<string, Json> = {};
  for (const { to, from, value } of binds) {
    const found = valueIn(value, scope());
    if (found === null) return { missing: { to, from } };
    values[to] = found;
  }
  return { values };
}
