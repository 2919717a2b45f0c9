import { defined } from '../../base/defined.ts';
import type { Effect, Json } from '../adapter.ts';
import { warning } from '../adapter-effects.ts';
import { openCall } from './command.ts';
import { notificationLine, requestLine, turnStartLine } from './rpc.ts';
import { type Envelope, initialized, opened, turnAccepted } from './schema.ts';
import { type CodexState, type MessageCall, settleMessages, withoutCall } from './state.ts';
import { type Step, step } from './step.ts';

const OVERLOADED = -32001;
const MAX_TRIES = 5;

type RpcError = NonNullable<Envelope['error']>;

/** Undefined when the result is not what the request asked for. */
export function onResponse(state: CodexState, id: Json, { result, error }: Envelope): Step<CodexState> | undefined {
  const call = state.calls.find((candidate) => candidate.id === id);
  if (!call) return step(state, { do: 'unknown', name: 'response to no request' });
  switch (call.for) {
    case 'initialize':
      return error ? cannotStart(state, error) : greeted(withoutCall(state, call.id), result);
    case 'open':
      return error ? openingRefused(state, error) : threadOpened(withoutCall(state, call.id), result);
    case 'message':
      return error ? messageRefused(state, call, error) : messageAccepted(state, call, result);
    case 'interrupt':
      return interrupted(withoutCall(state, call.id), call.messageId, error === undefined);
    case 'clean':
      return step(withoutCall(state, call.id));
  }
}

function greeted(state: CodexState, result: unknown): Step<CodexState> | undefined {
  const { data } = initialized.safeParse(result);
  if (!data || state.opening === null) return undefined;
  const agentVersion = /^[^/]*\/(\S+)/.exec(data.userAgent)?.[1] ?? null;
  return step(
    { ...state, agentVersion, calls: [...state.calls, openCall] },
    { do: 'write', line: notificationLine('initialized') },
    { do: 'write', line: state.opening },
  );
}

function threadOpened(state: CodexState, result: unknown): Step<CodexState> | undefined {
  const { data } = opened.safeParse(result);
  if (!data) return undefined;
  const sessionId = data.thread.id;
  const about = { model: data.model, agentVersion: state.agentVersion, cwd: data.cwd };
  return step({ ...state, opening: null, threadId: sessionId }, { do: 'session', sessionId, ...defined(about) });
}

function openingRefused(state: CodexState, error: RpcError): Step<CodexState> {
  const again = error.code === OVERLOADED && state.retries < MAX_TRIES ? state.opening : null;
  if (again === null) return cannotStart(state, error);
  return step({ ...state, retries: state.retries + 1 }, { do: 'write', line: again });
}

function cannotStart(state: CodexState, { message }: RpcError): Step<CodexState> {
  const code = message.includes('no rollout found') ? 'no_session' : 'agent_error';
  const told = `Codex did not open the conversation: ${message}`;
  const failed = { ...state, opening: null, calls: [] };
  return step(failed, { do: 'turn', is: 'failed', code, message: told, retryable: false });
}

/** The call is kept until Codex shows the message. It is never sent again, so its text can go. */
function messageAccepted(state: CodexState, call: MessageCall, result: unknown): Step<CodexState> | undefined {
  const { data } = turnAccepted.safeParse(result);
  const turnId = data?.turn?.id ?? data?.turnId ?? null;
  if (turnId === null) return undefined;
  const accepted = replaceCall(state, { ...call, text: null, turnId });
  return turnId === state.endedTurnId ? settleMessages(accepted, turnId) : step(accepted);
}

/**
 * Sends a message again when Codex was overloaded, or when its turn ended before the message reached it: then it begins the
 * next turn. An adapter has no clock to wait by; Codex's own answer takes the time between two tries.
 */
function messageRefused(state: CodexState, call: MessageCall, error: RpcError): Step<CodexState> {
  const { id, messageId, text, isSteer, tries } = call;
  const { threadId } = state;
  if (text !== null && threadId !== null && tries < MAX_TRIES && (isSteer || error.code === OVERLOADED)) {
    const next = replaceCall(state, { ...call, isSteer: false, tries: tries + 1 });
    return step(next, { do: 'write', line: turnStartLine({ id, threadId, messageId, text }) });
  }
  const message = `Codex refused a message: ${error.message}`;
  const failure: Effect =
    state.turnId === null
      ? { do: 'turn', is: 'failed', code: 'agent_error', message, retryable: false }
      : warning(message);
  return step(withoutCall(state, id), failure);
}

function replaceCall(state: CodexState, call: MessageCall): CodexState {
  return { ...state, calls: state.calls.map((other) => (other.id === call.id ? call : other)) };
}

/** Without the second request a running command would outlive the interrupted turn. */
function interrupted(state: CodexState, messageId: string, wasRunning: boolean): Step<CodexState> {
  const taken: Effect = { do: 'ack', messageId };
  const { threadId, nextId: id } = state;
  if (!wasRunning || threadId === null) return step(state, taken);
  const line = requestLine(id, 'thread/backgroundTerminals/clean', { threadId });
  const calls: CodexState['calls'] = [...state.calls, { id, for: 'clean' }];
  return step({ ...state, nextId: id + 1, calls }, taken, { do: 'write', line });
}
