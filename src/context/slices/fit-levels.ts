import type { Level, LevelName } from './levels.ts';

export type Count = (text: string) => number;

interface Fitting {
  /** The heading, told what became of the answer below it. */
  heading(shrunkTo: LevelName | undefined): string;
  levels: readonly Level[];
  room: number;
  count: Count;
}

/**
 * The richest level that fits whole. Where only a count would, as many names as fit come before it, with what is missing
 * (C-101). Never cut within a line; undefined when not even the count fits.
 */
export function fitLevels({ heading, levels: all, room, count }: Fitting): string | undefined {
  const levels = all.filter(({ lines }) => lines.length > 0); // of nothing the count alone says so
  const [richest] = levels;
  const write = ({ name, lines }: Level) => [heading(name === richest?.name ? undefined : name), ...lines].join('\n');
  const fits = (text: string) => count(text) <= room;
  for (const each of levels) {
    const text = write(each);
    if (each.name === 'count') return cutNames(levels, write, fits) ?? (fits(text) ? text : undefined);
    if (fits(text)) return text;
  }
  return undefined;
}

function cutNames(
  levels: readonly Level[],
  write: (level: Level) => string,
  fits: (text: string) => boolean,
): string | undefined {
  const names = levels.find(({ name }) => name === 'names');
  if (names === undefined || names.lines.length < 2) return undefined;
  const { name, lines } = names;
  const first = (kept: number) => write({ name, lines: [...lines.slice(0, kept), `… ${lines.length - kept} more`] });
  let [low, high] = [0, lines.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(first(middle))) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? undefined : first(low);
}
