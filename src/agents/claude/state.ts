import type { z } from 'zod';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Effect, LaunchRequest, MachineFacts } from '../adapter.ts';
import { badLine } from '../adapter-effects.ts';
import { isOlder } from '../description.ts';

/** Since this version an allow without the arguments runs the tool as asked; before it, the tool fails. */
const NEEDS_NO_ECHO = '2.1.325';

export type Verdict =
  | { is: 'done' | 'interrupted' | 'ended'; result: string; stopReason: string | null }
  | { is: 'failed'; code: ErrorCode; message: string; retryable: boolean; status: number | null }
  | { is: 'limit'; message: string };

/** A request of Claude's that waits for an answer, or whose answer it has not taken yet. */
type Asked = { requestId: string; toolUse: string | null; isAnswered: boolean };

export type ClaudeState = {
  /** An allow must repeat the arguments it allows. */
  echoes: boolean;
  /** What this Claude reports by lines of its own. Until the first of a kind, other signs have to do. */
  tells: { sessionState: boolean; tasks: boolean; lifecycle: boolean };
  /** Whether Claude works, as far as it said. */
  isBusy: boolean;
  /** A turn was begun and is not over: Claude may be idle in it, waiting for a background task. */
  isTurnOpen: boolean;
  /** A task has ended and Claude will take up its result unasked. */
  willWake: boolean;
  /** Background tasks under way. */
  tasks: string[];
  /** Shell commands that Claude waits for, which it tells as tasks too. Absent in the state of an older Reef. */
  commands?: string[];
  /** What the last `result` of the open turn said. */
  verdict: Verdict | null;
  /** The last failed request to the model: a `result` does not repeat its kind. */
  trouble: { kind: string; status: number | null } | null;
  /** When the provider's limit is lifted, once it is reached. */
  resumeAt: string | null;
  /** Sent and not acknowledged. */
  messages: string[];
  interrupts: string[];
  asked: Asked[];
  /** Ids of the last answers of the model: one answer comes in several lines. */
  answers: string[];
  /** Edits under way: the result of a sub-agent's edit does not repeat its path. */
  edits: { id: string; path: string }[];
  /** The plan Claude is about to ask for. */
  plan: { id: string; text: string } | null;
  /** Tools of MCP servers that a person chose, and whether they only read. */
  mcpTools: { name: string; reads: boolean }[];
  /** Sub-agents were at work, whose tokens older versions leave out of their sums. */
  hadSubagents: boolean;
};

/** What one line does: a copy of the state to be changed, and the effects so far. */
export interface Draft {
  state: ClaudeState;
  effects: Effect[];
}

export function initialState(_request: LaunchRequest, machine: MachineFacts): ClaudeState {
  return {
    echoes: needsEcho(machine.version),
    tells: { sessionState: false, tasks: false, lifecycle: false },
    isBusy: false,
    isTurnOpen: false,
    willWake: false,
    tasks: [],
    verdict: null,
    trouble: null,
    resumeAt: null,
    messages: [],
    interrupts: [],
    asked: [],
    answers: [],
    edits: [],
    plan: null,
    mcpTools: [],
    hadSubagents: false,
  };
}

export function needsEcho(version: string | undefined): boolean {
  return isOlder(version, NEEDS_NO_ECHO);
}

/** Lists in the state are bounded; the oldest entry goes. With ids of 128 characters all stays under 64 KiB. */
export function remember<T>(list: T[], entry: T, limit = 32): T[] {
  return [...list, entry].slice(-limit);
}

export type Reader<Place extends unknown[] = []> = (draft: Draft, json: unknown, ...place: Place) => void;

/** Reads a line, or a part of one, by its schema. */
export function reader<T, Place extends unknown[] = []>(
  what: string,
  schema: z.ZodType<T>,
  read: (draft: Draft, value: T, ...place: Place) => void,
): Reader<Place> {
  return (draft, json, ...place) => {
    const value = fitting(draft, what, schema, json);
    if (value !== undefined) read(draft, value, ...place);
  };
}

/** What does not fit is reported and changes nothing. */
export function fitting<T>(draft: Draft, what: string, schema: z.ZodType<T>, json: unknown): T | undefined {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  draft.effects.push(badLine(`${what} does not fit: ${issue?.path.join('.')}: ${issue?.message}`));
  return undefined;
}
