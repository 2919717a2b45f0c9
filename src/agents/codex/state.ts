import type { Effect } from '../adapter.ts';
import { warning } from '../adapter-effects.ts';
import type { SandboxState } from './sandbox.ts';
import { type Step, step } from './step.ts';

/** A request of Reef's that Codex has not answered yet, or a message it has not taken yet. */
export type Call =
  | { id: number; for: 'initialize' | 'open' | 'clean' }
  | { id: number; for: 'interrupt'; messageId: string }
  | MessageCall;

export type MessageCall = {
  id: number;
  for: 'message';
  messageId: string;
  /** Kept so that a refused message can be sent again; null when too long for the state, or already accepted. */
  text: string | null;
  isSteer: boolean;
  tries: number;
  /** The turn it was accepted into. */
  turnId: string | null;
};

export type ChangedFile = { path: string; kind: 'add' | 'update' | 'delete' | 'rename'; from?: string };
export type FileChanges = { changes: ChangedFile[]; digest: string; diff: string; isCut?: boolean };

/** Everything the adapter must remember between two lines: JSON, bounded, committed with the events. */
export type CodexState = SandboxState & {
  /** The `thread/start` or `thread/resume` line until it is answered. Null without a `threadId`: there will be no thread. */
  opening: string | null;
  agentVersion: string | null;
  threadId: string | null;
  /** Reef's own server is starting: a turn that began now would not have its tools. */
  isServerStarting: boolean;
  /** The turn that is running, and the last one that ended. */
  turnId: string | null;
  endedTurnId: string | null;
  nextId: number;
  calls: Call[];
  /** Requests of Codex that wait, by the JSON text of their id. */
  asked: Record<string, 'open' | 'answered'>;
  /** File changes under way: an approval names only the item. */
  edits: ({ itemId: string } & FileChanges)[];
  /** Tools whose call was emitted. */
  openTools: string[];
  /** Messages of which pieces were emitted. */
  streaming: string[];
  retries: number;
  /** Total tokens by thread: an update may repeat what is known. */
  totals: Record<string, number>;
  /** When an exhausted limit resets, in seconds since 1970. */
  resetsAt: number | null;
};

/** The thread's id if it belongs to a sub-agent, whose turns are not the job's. Undefined for the job's own thread. */
export function subAgent(state: CodexState, threadId: string | null | undefined): string | undefined {
  const isOwn = threadId == null || state.threadId === null || threadId === state.threadId;
  return isOwn ? undefined : threadId;
}

export function withoutCall(state: CodexState, id: number): CodexState {
  return { ...state, calls: state.calls.filter((call) => call.id !== id) };
}

/**
 * A turn that a message began has taken it, even if it never showed it. What was steered into it and not shown by its
 * end is lost: an interrupted Codex drops it (tried with 0.166.0).
 */
export function settleMessages(state: CodexState, endedTurnId: string): Step<CodexState> {
  const isOfTurn = (call: CodexState['calls'][number]): call is MessageCall =>
    call.for === 'message' && call.turnId === endedTurnId;
  const effects = state.calls.filter(isOfTurn).map((call): Effect => {
    if (!call.isSteer) return { do: 'ack', messageId: call.messageId };
    return warning('a message was still waiting when its turn ended, and Codex dropped it');
  });
  return step({ ...state, calls: state.calls.filter((call) => !isOfTurn(call)) }, ...effects);
}
