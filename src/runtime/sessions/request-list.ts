import { type Message, textOf } from '../models/message.ts';

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
