import { ReefError } from '../../protocol/errors.ts';
import type { Adapter, Json } from '../adapter.ts';
import { badLine, lineError } from '../adapter-effects.ts';
import { instructionText } from '../project-files.ts';
import { encodeOutgoing } from './encode.ts';
import { greeting, onHandshake } from './handshake.ts';
import { type KnownAgent, knownAcpAgents } from './known-agents.ts';
import { envelopeSchema, type RpcResponse, type WireId } from './messages.ts';
import { onCancelRequest, onRequest } from './requests.ts';
import { type AcpState, type Draft, initialState } from './state.ts';
import { onPromptEnd } from './turn.ts';
import { onUpdate } from './updates.ts';

/** Of an entry in the configuration. A known agent needs none, any other one its command. */
interface AcpSettings {
  command?: [string, ...string[]] | undefined;
  auth?: string | undefined;
}

/** Any agent that speaks version 1 of the Agent Client Protocol. */
export function acpAdapter(name: string, settings: AcpSettings = {}): Adapter<AcpState> {
  const { command, env, projectEnv, readsNoInstructions, routine, byAuth, auth, ...about } = agentOf(name, settings);
  return {
    describe: () => ({
      ...about,
      ...byAuth?.[auth ?? ''],
      name,
      executable: command[0],
      versionArgs: ['--version'],
      busyMessage: 'queues',
      tellsTokensLate: true,
      ignoresRepeats: false,
    }),
    command: (spec, machine) => {
      const [file, ...given] = machine.command;
      const args = given.length > 0 ? given : command.slice(1);
      const variables = { ...env, ...projectEnv?.(spec.project) };
      return { file, args, env: variables, stdin: 'fifo', greeting: [greeting(spec.clientVersion)] };
    },
    initial: (spec, machine) => {
      const instructions = readsNoInstructions ? instructionText(spec.project) : undefined;
      return initialState(spec, machine, { auth, instructions });
    },
    parse: (state, line) => {
      const draft: Draft = { state: { ...state }, out: [], login: about.login };
      if (line.stream === 'out') onMessage(draft, line.json, line.skeleton);
      else if (routine?.test(line.text)) draft.out.push({ do: 'routine' });
      return { state: draft.state, effects: draft.out };
    },
    encode: encodeOutgoing,
    finish: () => undefined,
  };
}

function agentOf(name: string, settings: AcpSettings): KnownAgent {
  const known = Object.hasOwn(knownAcpAgents, name) ? knownAcpAgents[name] : undefined;
  const command = settings.command ?? known?.command;
  if (!command) throw new ReefError('agent_unknown', `${name} is not known and has no command in the configuration`);
  const auth = settings.auth ?? known?.auth;
  return {
    title: name,
    install: `install ${command[0]} so that it is found on PATH`,
    login: `see the documentation of ${command[0]}`,
    asks: ['permission', 'choice', 'text'],
    resumes: true,
    state: [],
    passEnv: [],
    ...known,
    command,
    env: known?.env ?? {},
    ...(auth !== undefined && { auth }),
  };
}

function onMessage(d: Draft, json: Json, isSkeleton: boolean): void {
  const { id, method, params, result, error } = envelopeSchema.safeParse(json).data ?? {};
  const hasId = id !== undefined && id !== null;
  if (method !== undefined) {
    if (hasId) onRequest(d, { id, method, params }, isSkeleton);
    else onNotification(d, { method, params }, isSkeleton);
  } else if (hasId && error) onResponse(d, id, { error });
  else if (hasId && result !== undefined) onResponse(d, id, { result });
  // An error without an id answers no request: the agent could not read one of our lines.
  else d.out.push(error ? lineError('agent_error', error.message) : badLine('not a message of JSON-RPC'));
}

function onNotification(d: Draft, message: { method: string; params: Json | undefined }, isSkeleton: boolean): void {
  const { method, params } = message;
  if (method === 'session/update') onUpdate(d, params, isSkeleton);
  else if (method === '$/cancel_request') onCancelRequest(d, params);
  else if (method !== 'elicitation/complete' && !isExtension(method)) d.out.push({ do: 'unknown', name: method });
}

/** By the protocol a client ignores the extensions it does not know. */
const isExtension = (method: string) => method.startsWith('_');

function onResponse(d: Draft, id: WireId, response: RpcResponse): void {
  const { stage, awaited, prompt } = d.state;
  if (prompt !== null && id === prompt.id) onPromptEnd(d, response);
  else if (stage !== 'ready' && stage !== 'failed' && id === awaited) onHandshake(d, response);
  else d.out.push({ do: 'unknown', name: 'response' });
}
