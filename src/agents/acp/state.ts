import type { ErrorCode } from '../../protocol/error-table.ts';
import type { EventOf } from '../../protocol/events.ts';
import type { Effect, Json, LaunchRequest, MachineFacts } from '../adapter.ts';
import { TOKENS_PER_ANSWER, usageAhead } from '../adapter-effects.ts';

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
  /** Its `tool_call` was emitted. Until then the agent is still composing its arguments. */
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
  /** Goes with the first message. */
  instructions: string | null;
  prompt: { id: number; messageId: string; isTaken: boolean } | null;
  /** Message ids of interrupts that the end of the prompt will acknowledge. */
  interrupts: string[];
  /** Requests of the agent without an answer, or answered `cancelled` by an interrupt. */
  open: { requestId: string; tool: string | null; isForm: boolean; isCancelled: boolean }[];
  /** Answers not yet acknowledged. One about a tool is acknowledged only by news of that tool. */
  answered: { requestId: string; tool: string | null }[];
  tools: { [id: string]: OpenTool };
  /** The last tools that ended: late news about them do not begin a new call. */
  ended: string[];
  message: { id: string; kind: 'text' | 'thinking'; wireId: string | null } | null;
  messages: number;
  /** The model is in the middle of an answer; a tool's end begins the next one. */
  isAnswering: boolean;
  /** Of this turn. */
  answers: number;
  /** What one is reckoned to use: a guess until a turn has told. */
  perAnswer: number;
  /** The last message of the turn, as far as it is kept. */
  result: string;
  costUsd: number;
};

/** What one line does. Fields of the state are replaced, never changed in place: the state before stays as it was. */
export interface Draft {
  state: AcpState;
  out: Effect[];
  /** How to log in, for the message of an agent that is not. */
  login: string;
}

export const GREETING_ID = 1;

interface Opening {
  auth?: string | undefined;
  instructions?: string | undefined;
}

export function initialState(spec: LaunchRequest, machine: MachineFacts, about: Opening): AcpState {
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
      auth: (machine.settings.auth ?? about.auth) || null,
    },
    failure: null,
    agent: { name: '', version: null },
    sessionId: '',
    instructions: about.instructions ?? null,
    prompt: null,
    interrupts: [],
    open: [],
    answered: [],
    tools: {},
    ended: [],
    message: null,
    messages: 0,
    isAnswering: false,
    answers: 0,
    perAnswer: TOKENS_PER_ANSWER,
    result: '',
    costUsd: 0,
  };
}

const MAX_RESULT = 6 * 1024;

/** ACP does not mark the end of a message: anything else ends it. */
export function endMessage(d: Draft): void {
  const { message } = d.state;
  if (!message) return;
  d.out.push({ do: 'text', kind: message.kind, id: message.id, text: '', final: true });
  d.state.message = null;
}

export function addToMessage(
  d: Draft,
  piece: { kind: 'text' | 'thinking'; wireId: string | null; text: string },
): void {
  noteAnswer(d);
  const { kind, wireId, text } = piece;
  // claude-agent-acp gives a thought and the message after it the same id.
  const isSame = d.state.message?.kind === kind && d.state.message.wireId === wireId;
  if (!isSame) {
    endMessage(d);
    d.state.messages += 1;
    d.state.message = { id: `m${d.state.messages}`, kind, wireId };
    if (kind === 'text') d.state.result = '';
  }
  const id = d.state.message?.id ?? '';
  d.out.push({ do: 'text', kind, id, text, final: false });
  if (kind === 'text') d.state.result = (d.state.result + text).slice(0, MAX_RESULT);
}

/** ACP agents do not count the model's answers: one begins with the first word of a turn and after each tool. */
export function noteAnswer(d: Draft): void {
  if (d.state.isAnswering) return;
  d.out.push({ do: 'answer' }, usageAhead({ input: d.state.perAnswer, output: 0 }));
  d.state.isAnswering = true;
  d.state.answers += 1;
}

/** The agent works on the prompt: it has read it. */
export function takePrompt(d: Draft): void {
  const { prompt } = d.state;
  if (!prompt || prompt.isTaken) return;
  d.out.push({ do: 'ack', messageId: prompt.messageId }, { do: 'turn', is: 'begun' });
  d.state.prompt = { ...prompt, isTaken: true };
}

/** News of the turn, or of one of its tools, acknowledge the prompt and the answers that led to them. */
export function acknowledge(d: Draft, tool: string | null): void {
  takePrompt(d);
  acknowledgeAnswers(d, (waitsFor) => waitsFor === null || waitsFor === tool);
}

export function acknowledgeAnswers(d: Draft, isHeard: (waitsFor: string | null) => boolean): void {
  if (d.state.answered.length === 0) return;
  for (const { requestId, tool } of d.state.answered) {
    if (isHeard(tool)) d.out.push({ do: 'ack', requestId });
  }
  d.state.answered = d.state.answered.filter(({ tool }) => !isHeard(tool));
}
