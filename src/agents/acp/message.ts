import type { Draft } from './state.ts';

const MAX_RESULT = 6 * 1024;

/** ACP has no end of a message: whatever else comes ends it. */
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

/** No ACP agent counts the model's answers: one begins with the first word of a turn, and after each tool. */
export function noteAnswer(d: Draft): void {
  if (d.state.isAnswering) return;
  d.out.push({ do: 'answer' });
  d.state.isAnswering = true;
}
