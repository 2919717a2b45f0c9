import { parseJson } from '../../base/safe-json.ts';
import type { Answer, Encoded, Json, Outgoing } from '../adapter.ts';
import { toFormReply } from '../elicitation.ts';
import { ASK_TOOL } from './question.ts';
import { controlRequestLine, elicitation, questionsInput, type ToolRequest, toolRequest } from './schema.ts';
import { type ClaudeState, remember } from './state.ts';
import { fieldOf } from './tools.ts';

const WAITING = 64;
const DENIED = 'The user does not allow this.';

type AnswerOut = Extract<Outgoing, { kind: 'answer' }>;

export function encode(state: ClaudeState, outgoing: Outgoing): Encoded<ClaudeState> {
  switch (outgoing.kind) {
    case 'message':
      return {
        state: { ...state, messages: remember(state.messages, outgoing.messageId, WAITING) },
        lines: [messageLine(outgoing.messageId, outgoing.text)],
      };
    case 'interrupt':
      return {
        state: { ...state, interrupts: remember(state.interrupts, outgoing.messageId) },
        lines: [requestLine(outgoing.messageId, { subtype: 'interrupt' })],
      };
    case 'answer':
      return encodeAnswer(state, outgoing);
  }
}

function messageLine(uuid: string, text: string): string {
  const message = { role: 'user', content: [{ type: 'text', text }] };
  return JSON.stringify({ type: 'user', uuid, message, parent_tool_use_id: null, session_id: '' });
}

function requestLine(request_id: string, request: Json): string {
  return JSON.stringify({ type: 'control_request', request_id, request });
}

function encodeAnswer(state: ClaudeState, { requestId, requestLine: line, answers }: AnswerOut): Encoded<ClaudeState> {
  const envelope = readEnvelope(line);
  const request = replyTo(envelope?.request, answers, state.echoes);
  if (envelope === undefined || request === undefined) {
    return { refuse: 'bad_line', message: `the request ${requestId} cannot be read again` };
  }
  if ('bad' in request) return { refuse: 'bad_option', message: request.bad };
  const success = { subtype: 'success', request_id: envelope.request_id, response: request.response };
  const taken = state.asked.map((open) => (open.requestId === requestId ? { ...open, isAnswered: true } : open));
  return {
    state: { ...state, asked: taken },
    lines: [JSON.stringify({ type: 'control_response', response: success })],
  };
}

function readEnvelope(line: string) {
  const json = parseJson(line);
  return controlRequestLine.safeParse(json.ok ? json.value : undefined).data;
}

/** Undefined for a request that cannot be read. */
function replyTo(
  request: unknown,
  answers: Answer[],
  echoes: boolean,
): { response: unknown } | { bad: string } | undefined {
  if (fieldOf(request, 'subtype') !== 'elicitation') {
    const { data: wish } = toolRequest.safeParse(request);
    return wish && { response: reply(wish, answers, echoes) };
  }
  const { data: asked } = elicitation.safeParse(request);
  const filled = asked && toFormReply(asked, answers);
  return filled && 'result' in filled ? { response: filled.result } : filled;
}

/** Reef keeps saved grants; Claude gets a single allow. */
export function reply({ tool_name, input }: ToolRequest, answers: Answer[], echoes: boolean): Record<string, unknown> {
  const permissions = answers.filter((answer) => answer.kind === 'permission');
  const denial = permissions.find((answer) => answer.decision === 'deny');
  if (denial) return { behavior: 'deny', message: denial.reason || DENIED };
  const asked = tool_name === ASK_TOOL ? questionsInput.safeParse(input) : undefined;
  if (asked?.success && permissions.length === 0) {
    const given = asked.data.questions.map(({ question }, index) => [question, answerText(answers[index])]);
    return { behavior: 'allow', updatedInput: { ...input, answers: Object.fromEntries(given) } };
  }
  return echoes ? { behavior: 'allow', updatedInput: input } : { behavior: 'allow' };
}

function answerText(answer: Answer | undefined): string {
  if (answer?.kind === 'choice') return [...answer.labels, ...(answer.text ? [answer.text] : [])].join(', ');
  return answer?.kind === 'text' ? answer.text : '';
}
