import { ReefError } from '../../../protocol/errors.ts';

interface Hunk {
  /** The line in the header, from 1. Models often get it wrong, so it only breaks ties. */
  at: number;
  before: string[];
  after: string[];
}

/** Applies a unified diff, all or nothing. Each hunk must fit in exactly one place, or at the line it names. */
export function applyPatch(text: string, diff: string): { text: string; hunks: number } {
  const hunks = parseHunks(diff);
  if (hunks.length === 0) throw refuse('it has no hunk: a hunk begins with a line @@ -1,3 +1,4 @@');
  let lines = text.split('\n');
  let shift = 0;
  for (const [n, hunk] of hunks.entries()) {
    const at = placeOf(lines, hunk, { shift, number: n + 1 });
    lines = [...lines.slice(0, at), ...hunk.after, ...lines.slice(at + hunk.before.length)];
    shift += hunk.after.length - hunk.before.length;
  }
  return { text: lines.join('\n'), hunks: hunks.length };
}

function parseHunks(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    const hunk = hunks.at(-1);
    const [header, at] = /^@@(?: -(\d+))?/.exec(line) ?? [];
    if (header !== undefined) hunks.push({ at: Number(at ?? 0), before: [], after: [] });
    else if (hunk) addLine(hunk, line);
  }
  return hunks.filter(({ before, after }) => before.length + after.length > 0);
}

function addLine(hunk: Hunk, line: string): void {
  if (line.startsWith('\\')) return;
  const sign = line[0] ?? ' ';
  if (![' ', '+', '-'].includes(sign)) throw refuse(`a line begins with neither blank, + nor -: ${line.slice(0, 80)}`);
  if (sign !== '+') hunk.before.push(line.slice(1));
  if (sign !== '-') hunk.after.push(line.slice(1));
}

function placeOf(lines: string[], hunk: Hunk, { shift, number }: { shift: number; number: number }): number {
  const named = Math.max(0, hunk.at - 1 + shift);
  // A hunk that only adds lines goes where its header says.
  if (hunk.before.length === 0) return Math.min(hunk.at + shift, lines.length);
  const fits = (at: number) => hunk.before.every((line, n) => lines[at + n] === line);
  if (fits(named)) return named;
  const places = lines.flatMap((_, at) => (fits(at) ? [at] : []));
  const [only] = places;
  if (only !== undefined && places.length === 1) return only;
  const found = places.length === 0 ? 'are nowhere in the file' : `are in the file ${places.length} times`;
  throw refuse(`the lines of hunk ${number} ${found}:\n${hunk.before.join('\n').slice(0, 1_000)}`);
}

function refuse(why: string): ReefError {
  return new ReefError('tool_failed', `The patch was not applied and nothing has changed: ${why}`);
}
