import type { TokenCounter } from '../../base/tokens.ts';
import { type Message, textOf } from '../models/message.ts';
import { systemMessages } from '../roles/role.ts';
import type { SessionState } from './session-state.ts';

/** Share of the threshold that summary and list of requests may take together. */
const RECAP_SHARE = 0.25;
const LIST_SHARE = 0.6;
/** Tokens of the words around them. */
const HEADINGS = 30;
/** What a summary is measured against when compression is only ever asked for by hand. */
const PRESET_THRESHOLD = 4000;
const RECAP = 'What was said before, in short:';

/** What no summary may lose. */
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

/** The history as the model is given it: system prompt as it is, one recap if something was compressed, then the rest. */
export function promptMessages(source: PromptSource): Message[] {
  const system = systemMessages(source.systemPrompt);
  const recap = recapOf(source);
  const [first, ...examples] = system;
  if (recap === undefined) return [...system, ...source.state.messages];
  const head = first?.role === 'system' ? [first, recap, ...examples] : [recap, ...system];
  return [...head, ...source.state.messages];
}

/** How many tokens the model's own words may take beside the list of requests. */
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
 * What the user asked for, in order: computed and not remembered by a model, so intent survives a poor summary. The
 * oldest are shortened first; where even that is too much they are counted.
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
