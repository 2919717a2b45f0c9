import { parseJson } from '../../base/safe-json.ts';
import type { Answer, Encoded, Json, Outgoing } from '../adapter.ts';
import { ASK_TOOL } from './question.ts';
import { controlRequestLine, questionsInput, type ToolRequest, toolRequest } from './schema.ts';
import { type ClaudeState, remember } from './state.ts';

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
  const asked = readRequest(line);
  if (asked === undefined) return { refuse: 'bad_line', message: `the request ${requestId} cannot be read again` };
  const response = reply(asked.request, answers, state.echoes);
  const success = { subtype: 'success', request_id: asked.id, response };
  const taken = state.asked.map((open) => (open.requestId === requestId ? { ...open, isAnswered: true } : open));
  return {
    state: { ...state, asked: taken },
    lines: [JSON.stringify({ type: 'control_response', response: success })],
  };
}

function readRequest(line: string): { id: string | number; request: ToolRequest } | undefined {
  const json = parseJson(line);
  const envelope = controlRequestLine.safeParse(json.ok ? json.value : undefined);
  const request = toolRequest.safeParse(envelope.data?.request);
  return envelope.success && request.success ? { id: envelope.data.request_id, request: request.data } : undefined;
}

/** Reef keeps saved grants; Claude gets a single allow. */
function reply({ tool_name, input }: ToolRequest, answers: Answer[], echoes: boolean): Record<string, unknown> {
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
