import type { Draft } from './state.ts';

/** The agent works on the prompt: it has read it. */
export function takePrompt(d: Draft): void {
  const { prompt } = d.state;
  if (!prompt || prompt.isTaken) return;
  d.out.push({ do: 'ack', messageId: prompt.messageId }, { do: 'turn', is: 'begun' });
  d.state.prompt = { ...prompt, isTaken: true };
}

/** News of the turn, perhaps of a tool, acknowledge the prompt and the answers that led to them. */
export function acknowledge(d: Draft, tool: string | null): void {
  takePrompt(d);
  acknowledgeAnswers(d, (waitsFor) => waitsFor === null || waitsFor === tool);
}

export function acknowledgeAnswers(d: Draft, isHeard: (waitsFor: string | null) => boolean): void {
  if (d.state.answered.length === 0) return;
  for (const { requestId, tool } of d.state.answered) {
    if (isHeard(tool)) d.out.push({ do: 'ack', requestId });
  }
  d.state.answered = d.state.answered.filter(({ tool }) => !isHeard(tool));
}
