import type { ErrorCode } from '../../protocol/errors.ts';
import type { Effect, HostFacts, LaunchRequest } from '../adapter.ts';
import { isOlder } from './version.ts';

/** From here on an allow without the arguments runs the tool as asked; before, it fails the tool. */
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
  /** What this Claude tells by lines of its own; before the first of a kind, other signs have to do. */
  tells: { sessionState: boolean; tasks: boolean; lifecycle: boolean };
  /** Claude works, as far as it told. */
  isBusy: boolean;
  /** A turn was begun and is not over: Claude may be idle in it, waiting for a background task. */
  isTurnOpen: boolean;
  /** A task has ended and Claude will take up its result unasked. */
  willWake: boolean;
  /** Background tasks under way. */
  tasks: string[];
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
  /** Sub-agents were at work, whose tokens older versions leave out of their sums. */
  hadSubagents: boolean;
};

/** What one line does: a copy of the state to be changed, and the effects so far. */
export interface Draft {
  state: ClaudeState;
  effects: Effect[];
}

export function initialState(_request: LaunchRequest, host: HostFacts): ClaudeState {
  return {
    echoes: needsEcho(host.version),
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
