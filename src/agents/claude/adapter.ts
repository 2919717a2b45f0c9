import type { Adapter, AgentLine, Effect } from '../adapter.ts';
import { badLine, warning } from '../adapter-effects.ts';
import { toQuestions } from '../elicitation.ts';
import { resumeTime } from '../provider-answer.ts';
import { command, description, terminal } from './command.ts';
import { encode } from './encode.ts';
import { terminalTalk } from './hooks.ts';
import { askForHints, isOfHints, isOwnTool, onlyReads, readHints } from './mcp-hints.ts';
import { ackMessage, readAssistant, readUser } from './message-lines.ts';
import { finish, usageOf, verdictOf } from './outcome.ts';
import { questionsOf } from './question.ts';
import {
  cancelLine,
  controlRequestLine,
  controlResponseLine,
  elicitation,
  lifecycleLine,
  rateLimitLine,
  resultLine,
  toolRequest,
} from './schema.ts';
import { type ClaudeState, type Draft, fitting, initialState, type Reader, reader, remember } from './state.ts';
import { readSystem } from './system-lines.ts';
import { fieldOf } from './tools.ts';
import { close, interruptWait, rest, work } from './turn.ts';

/** Claude Code over its stream-json control protocol. */
export const claudeAdapter: Adapter<ClaudeState> = {
  describe: () => description,
  command,
  terminal,
  terminalTalk,
  initial: initialState,
  parse,
  encode,
  finish,
};

function parse(state: ClaudeState, line: AgentLine): { state: ClaudeState; effects: Effect[] } {
  if (line.stream === 'err') return { state, effects: [] };
  const draft: Draft = { state: { ...state }, effects: [] };
  const { json } = line;
  const type = fieldOf(json, 'type');
  const read = READERS.get(type ?? '');
  if (read) read(draft, json);
  else if (type === undefined) draft.effects.push(badLine('a line without a type'));
  else if (!IGNORED.has(type)) draft.effects.push({ do: 'unknown', name: type });
  return draft;
}

/** A result does not end the turn: messages may wait, and background tasks may go on. */
const readResult = reader('a result', resultLine, (draft, line) => {
  const { state, effects } = draft;
  if (!state.tells.sessionState) work(draft);
  const report = usageOf(line, state.hadSubagents);
  if (report !== undefined) effects.push({ do: 'usage', report });
  state.verdict = verdictOf(line, state.trouble);
  state.trouble = null;
  // An interrupted Claude that has messages waiting goes on with them without ever being idle.
  if (state.verdict.is === 'interrupted' && state.isTurnOpen) close(draft, state.verdict);
  else if (!state.tells.sessionState) rest(draft);
});

/** `queued` comes first; a message that a resumed session already knows is only `completed`. */
const readLifecycle = reader('news of a message', lifecycleLine, (draft, line) => {
  const { state } = draft;
  state.tells = { ...state.tells, lifecycle: true };
  if (line.state === 'refused' || line.state === 'discarded') return;
  const isNews = ackMessage(draft, line.command_uuid);
  if (!isNews || line.state !== 'completed' || state.isTurnOpen) return;
  work(draft);
  close(draft, { is: 'ended', result: '', stopReason: 'repeated' });
  state.isBusy = false;
});

/** Only a refusal matters: the result that follows reports it, and this line has the time when it ends. */
const readRateLimit = reader('a rate limit', rateLimitLine, ({ state }, { rate_limit_info: info }) => {
  state.resumeAt = info.status === 'rejected' ? (resumeTime(info.resetsAt) ?? null) : null;
});

const readControlRequest = reader('a request', controlRequestLine, (draft, { request_id, request }) => {
  if (request.subtype === 'elicitation') {
    readForm(draft, request_id, request);
    return;
  }
  if (request.subtype !== 'can_use_tool') {
    draft.effects.push({ do: 'unknown', name: `control_request/${request.subtype}` });
    refuse(draft, request_id, `Unsupported control request subtype: ${request.subtype}`);
    return;
  }
  const wish = fitting(draft, 'a permission request', toolRequest, request);
  if (!wish) {
    refuse(draft, request_id, 'This request could not be read');
    return;
  }
  const { state, effects } = draft;
  const requestId = JSON.stringify(request_id);
  const toolUse = wish.tool_use_id ?? null;
  const plan = state.plan !== null && state.plan.id === toolUse ? state.plan.text : undefined;
  state.asked = remember(state.asked, { requestId, toolUse, isAnswered: false });
  const { tool_name: tool } = wish;
  const reads = onlyReads(state, tool);
  effects.push({ do: 'ask', requestId, questions: questionsOf(wish, { plan, reads }) });
  if (tool.startsWith('mcp__') && !isOwnTool(tool) && reads === undefined) askForHints(draft);
});

/** An MCP server asks a person something through Claude. */
function readForm(draft: Draft, request_id: string | number, request: unknown): void {
  const asked = fitting(draft, 'a form', elicitation, request);
  if (!asked) {
    refuse(draft, request_id, 'This form could not be read');
    return;
  }
  const requestId = JSON.stringify(request_id);
  draft.state.asked = remember(draft.state.asked, { requestId, toolUse: null, isAnswered: false });
  draft.effects.push({ do: 'ask', requestId, questions: toQuestions(asked) });
}

/** Answered at once, so that Claude never waits for what nobody will answer. */
function refuse(draft: Draft, request_id: string | number, error: string): void {
  const line = JSON.stringify({ type: 'control_response', response: { subtype: 'error', request_id, error } });
  draft.effects.push({ do: 'write', line });
}

const readCancel = reader('a withdrawal', cancelLine, (draft, { request_id }) => {
  const requestId = JSON.stringify(request_id);
  draft.state.asked = draft.state.asked.filter((asked) => asked.requestId !== requestId);
  draft.effects.push({ do: 'withdraw', requestId, by: 'agent' });
});

/** The requests that Reef makes: to interrupt, and to say what the tools of servers do. */
const readControlResponse = reader('a response', controlResponseLine, (draft, { response }) => {
  const { state, effects } = draft;
  const messageId = String(response.request_id);
  if (!state.interrupts.includes(messageId)) return;
  state.interrupts = state.interrupts.filter((interrupt) => interrupt !== messageId);
  effects.push({ do: 'ack', messageId });
  if (response.subtype === 'success') interruptWait(draft);
  else effects.push(warning(`Claude did not take the interrupt: ${response.error ?? response.subtype}`));
});

/** A reply of a kind of its own. */
const readResponse: Reader = (draft, json) =>
  isOfHints(json) ? readHints(draft, json) : readControlResponse(draft, json);

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['assistant', readAssistant],
  ['user', readUser],
  ['result', readResult],
  ['system', readSystem],
  ['command_lifecycle', readLifecycle],
  ['rate_limit_event', readRateLimit],
  ['control_request', readControlRequest],
  ['control_cancel_request', readCancel],
  ['control_response', readResponse],
]);

const IGNORED = new Set(['stream_event', 'keep_alive', 'tool_progress', 'tool_use_summary', 'prompt_suggestion']);
