import type { ErrorCode } from '../../protocol/errors.ts';
import type { EventOf } from '../../protocol/events.ts';
import type { Effect, HostFacts, Json, LaunchRequest } from '../adapter.ts';

/** What is needed to open the session; forgotten once it is open. */
type Launch = {
  cwd: string;
  mcpServers: Json[];
  resume: string | null;
  model: string | null;
  auth: string | null;
};

export type FileChange = { path: string; kind: 'add' | 'update' | 'delete'; diff: string | null };

export type OpenTool = {
  name: string;
  tool: EventOf<'tool_call'>['payload']['tool'];
  title: string;
  input: Json;
  /** Its `tool_call` was written; before that the agent is still composing its arguments. */
  isShown: boolean;
  changes: FileChange[];
};

export type AcpState = {
  stage: 'initialize' | 'authenticate' | 'session' | 'model' | 'ready' | 'failed';
  nextId: number;
  /** The request of the hand-shake that is under way. */
  awaited: number;
  launch: Launch | null;
  failure: { code: ErrorCode; message: string } | null;
  agent: { name: string; version: string | null };
  sessionId: string;
  prompt: { id: number; messageId: string; isTaken: boolean } | null;
  /** Message ids of interrupts that the end of the prompt will acknowledge. */
  interrupts: string[];
  /** Requests of the agent without an answer, or answered `cancelled` by an interrupt. */
  open: { requestId: string; tool: string | null; isForm: boolean; isCancelled: boolean }[];
  /** Answers not yet acknowledged; with a tool, only news of that tool acknowledge. */
  answered: { requestId: string; tool: string | null }[];
  tools: { [id: string]: OpenTool };
  /** The last tools that ended: late news of them are no new call. */
  ended: string[];
  message: { id: string; kind: 'text' | 'thinking'; wireId: string | null } | null;
  messages: number;
  /** The model is in the middle of an answer; a tool's end begins the next one. */
  isAnswering: boolean;
  /** The last message of the turn, as far as it is kept. */
  result: string;
  costUsd: number;
};

/** One line's work. Fields of the state are replaced, never changed in place: the state before it stays as it was. */
export interface Draft {
  state: AcpState;
  out: Effect[];
  /** How to log in, for those who are not. */
  login: string;
}

export const GREETING_ID = 1;

export function initialState(spec: LaunchRequest, host: HostFacts, auth: string | undefined): AcpState {
  const { mcp } = spec;
  const env = Object.entries(mcp?.env ?? {}).map(([name, value]) => ({ name, value }));
  return {
    stage: 'initialize',
    nextId: GREETING_ID + 1,
    awaited: GREETING_ID,
    launch: {
      cwd: spec.cwd,
      mcpServers: mcp ? [{ name: mcp.name, command: mcp.command, args: mcp.args, env }] : [],
      resume: spec.sessionId ?? null,
      model: spec.model ?? null,
      auth: (host.settings.auth ?? auth) || null,
    },
    failure: null,
    agent: { name: '', version: null },
    sessionId: '',
    prompt: null,
    interrupts: [],
    open: [],
    answered: [],
    tools: {},
    ended: [],
    message: null,
    messages: 0,
    isAnswering: false,
    result: '',
    costUsd: 0,
  };
}

export function badLine(what: string): Effect {
  const payload = { code: 'bad_line', scope: 'line', fatal: false, retryable: false, message: what } as const;
  return { do: 'emit', event: { type: 'error', payload } };
}

export function warning(message: string): Effect {
  return { do: 'emit', event: { type: 'progress', payload: { kind: 'warning', message } } };
}
