import type { z } from 'zod';
import { defined } from '../../base/defined.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Json } from '../adapter.ts';
import { initializeResultSchema, type RpcError, type RpcResponse, rpc, sessionResultSchema } from './messages.ts';
import { type AcpState, type Draft, GREETING_ID } from './state.ts';
import { AUTH_REQUIRED, describeFailure, failure } from './turn.ts';

const PROTOCOL_VERSION = 1;

export function greeting(version: string): string {
  return rpc.request(GREETING_ID, 'initialize', {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      elicitation: { form: {}, url: {} },
      session: { compaction: {} },
    },
    clientInfo: { name: 'reef', version },
  });
}

/** initialize → authenticate? → session/new or session/load → choice of a model? → ready. */
export function onHandshake(d: Draft, { result, error }: RpcResponse): void {
  const { stage } = d.state;
  if (error) onRefused(d, error);
  else if (stage === 'initialize') onInitialized(d, result);
  else if (stage === 'authenticate') openSession(d);
  else if (stage === 'session') onSession(d, result);
  else ready(d);
}

function onRefused(d: Draft, error: RpcError): void {
  const { stage, launch } = d.state;
  const { code, message } = describeFailure(error);
  const effect = failure(stage === 'authenticate' ? { ...error, code: AUTH_REQUIRED } : error, d.login);
  if (stage === 'model') fail(d, 'bad_request', `model ${launch?.model}: ${message}`);
  else if (stage === 'session' && launch?.resume && code === 'agent_error') {
    fail(d, 'resume_unsupported', `the agent did not load session ${launch.resume}: ${message}`);
  } else if (effect.do === 'turn' && effect.is === 'failed') fail(d, effect.code, effect.message);
  else d.out.push(effect);
}

/** Ends the launch as failed: from now on messages are refused. */
function fail(d: Draft, code: ErrorCode, message: string): void {
  d.state = { ...d.state, stage: 'failed', launch: null, failure: { code, message } };
  d.out.push({ do: 'turn', is: 'failed', code, message, retryable: false });
}

function onInitialized(d: Draft, result: unknown): void {
  const { data } = initializeResultSchema.safeParse(result);
  const { launch } = d.state;
  if (data?.agentInfo) d.state.agent = { name: data.agentInfo.name, version: data.agentInfo.version ?? null };
  if (data?.protocolVersion !== PROTOCOL_VERSION) {
    fail(d, 'agent_error', `the agent does not speak version ${PROTOCOL_VERSION} of ACP`);
  } else if (launch?.resume && !data.agentCapabilities?.loadSession) {
    fail(d, 'resume_unsupported', 'the agent cannot load a session');
  } else if (launch?.auth) call(d, 'authenticate', 'authenticate', { methodId: launch.auth });
  else openSession(d);
}

function openSession(d: Draft): void {
  const { launch } = d.state;
  if (!launch) return;
  const { cwd, mcpServers, resume } = launch;
  if (resume) call(d, 'session', 'session/load', { sessionId: resume, cwd, mcpServers });
  else call(d, 'session', 'session/new', { cwd, mcpServers });
}

type Session = NonNullable<z.infer<typeof sessionResultSchema>>;

function onSession(d: Draft, result: unknown): void {
  const parsed = sessionResultSchema.safeParse(result);
  const session: Session = parsed.data ?? {};
  // `session/load` may answer with nothing at all.
  const sessionId = parsed.success ? (d.state.launch?.resume ?? session.sessionId) : undefined;
  if (!sessionId) {
    fail(d, 'agent_error', 'the agent opened no session');
    return;
  }
  d.state.sessionId = sessionId;
  const wanted = d.state.launch?.model ?? null;
  const model = wanted ?? modelOption(session)?.currentValue ?? session.models?.currentModelId;
  const known = defined({
    model: typeof model === 'string' ? model : undefined,
    agentVersion: d.state.agent.version,
  });
  d.out.push({ do: 'session', sessionId, ...known });
  if (wanted === null) ready(d);
  else chooseModel(d, session, wanted);
}

const modelOption = (session: Session) => session.configOptions?.find((option) => option.category === 'model');

function chooseModel(d: Draft, session: Session, model: string): void {
  const { sessionId } = d.state;
  const option = modelOption(session);
  if (option) call(d, 'model', 'session/set_config_option', { sessionId, configId: option.id, value: model });
  else if (session.models) call(d, 'model', 'session/set_model', { sessionId, modelId: model });
  else fail(d, 'bad_request', `model ${model}: this agent offers no choice of models`);
}

function ready(d: Draft): void {
  d.state = { ...d.state, stage: 'ready', launch: null };
}

function call(d: Draft, stage: AcpState['stage'], method: string, params: Json): void {
  const id = d.state.nextId;
  d.state = { ...d.state, stage, awaited: id, nextId: id + 1 };
  d.out.push({ do: 'write', line: rpc.request(id, method, params) });
}
