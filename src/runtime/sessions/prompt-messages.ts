import type { TokenCounter } from '../../base/tokens.ts';
import { type Message, textOf } from '../models/message.ts';
import { systemMessages } from '../roles/role.ts';
import type { SessionState } from './session-state.ts';

/** The share of the threshold for summary and list of requests together, and the list's share of that. */
const RECAP_SHARE = 0.25;
const LIST_SHARE = 0.6;
/** Tokens of the headings. */
const HEADINGS = 30;
/** The threshold for sizes when automatic compression is off. */
const PRESET_THRESHOLD = 4000;
const RECAP = 'What was said before, in short:';

/** Facts that a compressed prompt keeps. */
export interface Facts {
  todos?: string | undefined;
  children?: readonly { id: string; agent: string; task: string }[];
  questions?: readonly { id: string; question: string }[];
}

interface PromptSource {
  systemPrompt: string;
  state: SessionState;
  facts: Facts;
  threshold: number;
  recapPrompt: string | null;
  tokens: Pick<TokenCounter, 'count'>;
}

/** The history as the model sees it: system prompt, a recap of what was compressed, messages. */
export function promptMessages(source: PromptSource): Message[] {
  const system = systemMessages(source.systemPrompt);
  const recap = recapOf(source);
  const [first, ...examples] = system;
  if (recap === undefined) return [...system, ...source.state.messages];
  const head = first?.role === 'system' ? [first, recap, ...examples] : [recap, ...system];
  return [...head, ...source.state.messages];
}

/** How many tokens the model's summary may take. */
export const summaryBudget = (threshold: number) =>
  Math.floor((threshold || PRESET_THRESHOLD) * RECAP_SHARE * (1 - LIST_SHARE));

function recapOf({ state, facts, threshold, recapPrompt, tokens }: PromptSource): Message | undefined {
  if (state.summary === null) return undefined;
  const room = Math.floor((threshold || PRESET_THRESHOLD) * RECAP_SHARE * LIST_SHARE) - HEADINGS;
  const requests = requestList(state.compressed_messages, (text) => tokens.count(text) <= room);
  const parts = [
    `${recapPrompt ?? RECAP}\n${state.summary}`,
    requests === '' ? '' : `The user asked for:\n${requests}`,
    facts.todos ? `The list of things to do:\n${facts.todos}` : '',
    list(
      'Agents that are running:',
      facts.children?.map(({ id, agent, task }) => `${id} (${agent}): ${task}`),
    ),
    list(
      'Questions that are open:',
      facts.questions?.map(({ id, question }) => `${id}: ${question}`),
    ),
  ];
  return { role: 'system', content: parts.filter((part) => part !== '').join('\n\n') };
}

function list(title: string, lines: readonly string[] = []): string {
  return lines.length === 0 ? '' : `${title}\n${lines.map((line) => `- ${line}`).join('\n')}`;
}

const LONGEST = 160;
const SHORTEST = 24;

/**
 * The user's requests in order. They are computed, so they survive a poor summary. The oldest are shortened first, and
 * left out with a count if the list is still too long.
 */
export function requestList(messages: readonly Message[], fits: (text: string) => boolean): string {
  const requests = messages.flatMap((message) => (message.role === 'user' ? [oneLine(textOf(message))] : []));
  const lengths = requests.map(() => LONGEST);
  const render = (from: number) => {
    const lines = requests
      .slice(from)
      .map((text, index) => `${from + index + 1}. ${cut(text, lengths[from + index] ?? LONGEST)}`);
    return [...(from > 0 ? [`(${from} earlier requests)`] : []), ...lines].join('\n');
  };
  for (let index = 0; index < requests.length && !fits(render(0)); index++) lengths[index] = SHORTEST;
  let from = 0;
  while (from < requests.length && !fits(render(from))) from++;
  return render(from);
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim();
const cut = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

/** Roughly what a provider adds around a message. */
const TOKENS_AROUND = 4;

/** A message as plain text, with its tool calls. */
export function fullText(message: Message): string {
  if (message.role === 'system') return message.content;
  return message.content
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text;
      if (part.type === 'tool_call') return `${part.name}(${JSON.stringify(part.arguments)})`;
      if (part.type === 'tool_result') return `${part.name} → ${part.output}`;
      return `[${part.name ?? part.mediaType}]`;
    })
    .join('\n');
}

export function tokensOf(messages: readonly Message[], tokens: Pick<TokenCounter, 'count'>): number {
  return messages.reduce((sum, message) => sum + TOKENS_AROUND + tokens.count(fullText(message)), 0);
}
