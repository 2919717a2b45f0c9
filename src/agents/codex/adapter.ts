import type { Adapter, AgentLine } from '../adapter.ts';
import { badLine } from '../adapter-effects.ts';
import { command, describeAppServer, initial, terminal } from './command.ts';
import { encode } from './encode.ts';
import { OF_NO_INTEREST } from './known.ts';
import { notifications } from './notifications.ts';
import { onRequest } from './requests.ts';
import { onResponse } from './responses.ts';
import { refusalLine } from './rpc.ts';
import { onStderr, sandboxEnd } from './sandbox.ts';
import { type Envelope, readEnvelope } from './schema.ts';
import type { CodexState } from './state.ts';
import { type Step, step } from './step.ts';

/** Codex through `codex app-server`: a two-way conversation that asks, steers, interrupts and resumes. */
export const codexAdapter: Adapter<CodexState> = {
  describe: describeAppServer,
  command,
  terminal,
  initial,
  parse,
  encode,
  finish: sandboxEnd,
};

function parse(state: CodexState, line: AgentLine): Step<CodexState> {
  if (line.stream === 'err') return onStderr(state, line.text);
  const message = readEnvelope(line.json);
  if (!message) return step(state, badLine('Codex wrote a line that is not a message of its protocol'));
  const { id, method } = message;
  if (method === undefined) return (id !== undefined && onResponse(state, id, message)) || unfit(state, message);
  if (id !== undefined) return onRequest(state, { id, method, params: message.params }) ?? unfit(state, message);
  if (OF_NO_INTEREST.has(method)) return step(state);
  const handle = notifications.get(method);
  if (!handle) return step(state, { do: 'unknown', name: method });
  const next = handle(state, message.params) ?? unfit(state, message);
  return line.skeleton ? { ...next, state: withCutEdits(state, next.state) } : next;
}

/** What a change that came in a line without its long strings would do cannot be shown. */
function withCutEdits(before: CodexState, after: CodexState): CodexState {
  const edits = after.edits.map((edit) => (before.edits.includes(edit) ? edit : { ...edit, isCut: true }));
  return { ...after, edits };
}

/** A request that cannot be read is refused all the same: no agent waits for ever. */
function unfit(state: CodexState, { id, method }: Envelope): Step<CodexState> {
  const told = badLine(`Codex wrote a ${method ?? 'response'} that Reef cannot read`);
  if (id === undefined || method === undefined) return step(state, told);
  return step(state, told, { do: 'write', line: refusalLine(id, method) });
}
