import type { Answer, Encoded, Outgoing } from '../adapter.ts';
import { elicitedReply, isAllowed } from './elicitation.ts';
import { replyLine, requestLine, turnStartLine, turnSteerLine } from './rpc.ts';
import { readEnvelope, requests } from './schema.ts';
import type { Call, CodexState } from './state.ts';

/** With more messages under way the next one waits. With more text kept for a second try, a message gets only one. */
const MAX_UNDER_WAY = 64;
const KEPT_TEXT = 16 * 1024;

export function encode(state: CodexState, outgoing: Outgoing): Encoded<CodexState> {
  switch (outgoing.kind) {
    case 'message':
      return encodeMessage(state, outgoing);
    case 'answer':
      return encodeAnswer(state, outgoing);
    case 'interrupt':
      return encodeInterrupt(state, outgoing.messageId);
  }
}

function encodeMessage(state: CodexState, message: Extract<Outgoing, { kind: 'message' }>): Encoded<CodexState> {
  const { messageId, text } = message;
  const { threadId, turnId, nextId: id } = state;
  // Codex refused the conversation: waiting for it would keep the process for ever.
  if (threadId === null && state.opening === null) {
    return { refuse: 'agent_error', message: 'Codex did not open the conversation' };
  }
  // Sent again after a restart: the first copy may never have left, and is not waited for.
  const calls = state.calls.filter((call) => call.for !== 'message' || call.messageId !== messageId);
  const underWay = calls.filter((call) => call.for === 'message');
  const isBeginning = turnId === null && underWay.length > 0;
  const isEarly = threadId === null || (turnId === null && state.isServerStarting);
  if (isEarly || isBeginning || underWay.length >= MAX_UNDER_WAY) return { later: true };
  const kept = underWay.reduce((sum, call) => sum + jsonSize(call.text ?? ''), jsonSize(text));
  const isKept = kept <= KEPT_TEXT;
  // A steering message that comes too late is refused. `turn/start` joins a running turn as well and is never too
  // late: what cannot be sent again goes that way.
  const isSteer = turnId !== null && isKept;
  const parts = { id, threadId, messageId, text };
  const line = isSteer ? turnSteerLine(parts, turnId) : turnStartLine(parts);
  const call: Call = { id, for: 'message', messageId, text: isKept ? text : null, isSteer, tries: 1, turnId: null };
  return { state: { ...state, nextId: id + 1, calls: [...calls, call] }, lines: [line] };
}

const jsonSize = (text: string) => Buffer.byteLength(JSON.stringify(text));

function encodeInterrupt(state: CodexState, messageId: string): Encoded<CodexState> {
  const { threadId, turnId, nextId: id, calls } = state;
  const isBeginning = turnId === null && calls.some((call) => call.for === 'message');
  if (threadId === null || isBeginning) return { later: true };
  if (turnId === null) return { state, lines: [], delivered: true };
  const call: Call = { id, for: 'interrupt', messageId };
  const line = requestLine(id, 'turn/interrupt', { threadId, turnId });
  return { state: { ...state, nextId: id + 1, calls: [...calls, call] }, lines: [line] };
}

function encodeAnswer(state: CodexState, outgoing: Extract<Outgoing, { kind: 'answer' }>): Encoded<CodexState> {
  const { requestId, requestLine: line, answers } = outgoing;
  const withdrawn = { refuse: 'question_withdrawn', message: 'Codex no longer waits for this answer' } as const;
  if (state.asked[requestId] === undefined) return withdrawn;
  const { method, params, id } = readEnvelope(JSON.parse(line)) ?? {};
  if (id === undefined || method === undefined) return withdrawn;
  const result = resultFor(method, params, answers);
  if (typeof result === 'string') return { refuse: 'bad_option', message: result };
  return { state: { ...state, asked: { ...state.asked, [requestId]: 'answered' } }, lines: [replyLine(id, result)] };
}

/** A string says why the answers cannot be sent. */
function resultFor(method: string, params: unknown, answers: Answer[]): object | string {
  switch (method) {
    case 'item/tool/requestUserInput':
      return userAnswers(requests[method].parse(params).questions, answers);
    case 'item/permissions/requestApproval': {
      const asked = Object.entries(requests[method].parse(params).permissions).filter(([, value]) => value !== null);
      return { permissions: isAllowed(answers[0]) ? Object.fromEntries(asked) : {}, scope: 'turn' };
    }
    case 'mcpServer/elicitation/request':
      return elicitedReply(requests[method].parse(params), answers);
    default:
      // `cancel` would end the turn; `decline` works even where Codex does not list it.
      return { decision: isAllowed(answers[0]) ? 'accept' : 'decline' };
  }
}

function userAnswers(questions: { id: string }[], answers: Answer[]): object {
  const given = questions.map(({ id }, index) => [id, { answers: answerTexts(answers[index]) }]);
  return { answers: Object.fromEntries(given) };
}

function answerTexts(answer: Answer | undefined): string[] {
  if (answer?.kind === 'text') return [answer.text];
  if (answer?.kind !== 'choice') return [];
  return answer.text === undefined ? answer.labels : [...answer.labels, answer.text];
}
