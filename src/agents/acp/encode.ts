import { parseJson } from '../../base/safe-json.ts';
import type { Answer, Encoded, Json, Outgoing } from '../adapter.ts';
import { elicitationSchema, toFormReply } from '../elicitation.ts';
import { envelopeSchema, permissionSchema, rpc, type WireId } from './messages.ts';
import { cancelled } from './requests.ts';
import type { AcpState } from './state.ts';

export function encodeOutgoing(state: AcpState, outgoing: Outgoing): Encoded<AcpState> {
  if (outgoing.kind === 'message') return encodeMessage(state, outgoing);
  if (outgoing.kind === 'interrupt') return encodeInterrupt(state, outgoing.messageId);
  return encodeAnswer(state, outgoing);
}

type Message = Extract<Outgoing, { kind: 'message' }>;

function encodeMessage(state: AcpState, { messageId, text }: Message): Encoded<AcpState> {
  if (state.failure) return { refuse: state.failure.code, message: state.failure.message };
  if (state.stage !== 'ready') return { later: true };
  const isRepeat = state.prompt?.messageId === messageId && !state.prompt.isTaken;
  if (state.prompt && !isRepeat) return { later: true };
  const id = state.prompt?.id ?? state.nextId;
  const isFirst = state.messages === 0 && state.instructions !== null;
  const texts = isFirst ? [state.instructions, text] : [text];
  const params = { sessionId: state.sessionId, prompt: texts.map((each) => ({ type: 'text', text: each })) };
  return {
    state: { ...state, prompt: { id, messageId, isTaken: false }, nextId: Math.max(state.nextId, id + 1) },
    lines: [rpc.request(id, 'session/prompt', params)],
  };
}

/** Also answers what is open: even a cancelled agent waits for its questions. */
function encodeInterrupt(state: AcpState, messageId: string): Encoded<AcpState> {
  if (!state.prompt) return { state, lines: [], delivered: true };
  const replies = state.open
    .filter((request) => !request.isCancelled)
    .map(({ requestId, isForm }) => rpc.reply(JSON.parse(requestId) as WireId, cancelled(isForm)));
  const interrupts = [...state.interrupts.filter((id) => id !== messageId), messageId];
  return {
    state: { ...state, interrupts, open: state.open.map((request) => ({ ...request, isCancelled: true })) },
    lines: [rpc.notification('session/cancel', { sessionId: state.sessionId }), ...replies],
  };
}

type AnswerTo = Extract<Outgoing, { kind: 'answer' }>;

function encodeAnswer(state: AcpState, { requestId, requestLine, answers }: AnswerTo): Encoded<AcpState> {
  const request = state.open.find((open) => open.requestId === requestId && !open.isCancelled);
  const isRepeat = state.answered.some((answer) => answer.requestId === requestId);
  if (!request && !isRepeat)
    return { refuse: 'question_withdrawn', message: 'the agent no longer waits for this answer' };
  const reply = toReply(requestLine, answers);
  if ('bad' in reply) return { refuse: 'bad_option', message: reply.bad };
  const line = rpc.reply(JSON.parse(requestId) as WireId, reply.result);
  if (!request) return { state, lines: [line] };
  // A refused tool need not be mentioned again: then the model's next word acknowledges the answer.
  const tool = reply.isRefusal ? null : request.tool;
  return {
    state: {
      ...state,
      open: state.open.filter((open) => open !== request),
      answered: [...state.answered, { requestId, tool }],
      isAnswering: state.isAnswering && !reply.isRefusal,
    },
    lines: [line],
  };
}

type Reply = { result: Json; isRefusal: boolean } | { bad: string };

function toReply(requestLine: string, answers: Answer[]): Reply {
  const line = parseJson(requestLine);
  const { data: message } = envelopeSchema.safeParse(line.ok ? line.value : null);
  if (message?.method === 'elicitation/create') {
    const { data: asked } = elicitationSchema.safeParse(message.params);
    const reply = asked ? toFormReply(asked, answers) : { bad: 'the request is not a form' };
    return 'bad' in reply ? reply : { ...reply, isRefusal: false };
  }
  const { data: asked } = permissionSchema.safeParse(message?.params);
  const [answer] = answers;
  if (answer?.kind !== 'permission') return { bad: 'this question takes a decision' };
  // By kind, because ids differ between agents, and only once: Reef remembers what is allowed for longer.
  const isRefusal = answer.decision === 'deny';
  const wanted = isRefusal ? 'reject_once' : 'allow_once';
  const option = asked?.options.find((candidate) => candidate.kind === wanted);
  if (!option) return { result: cancelled(false), isRefusal: true };
  return { result: { outcome: { outcome: 'selected', optionId: option.optionId } }, isRefusal };
}
