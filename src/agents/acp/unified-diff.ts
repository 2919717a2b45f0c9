const CONTEXT = 3;
/** Beyond this many pairs of lines the changed middle is shown as one block: a diff must not cost more than the edit. */
const MAX_PAIRS = 250_000;

interface Op {
  tag: ' ' | '-' | '+';
  line: string;
}

/** The hunks of a unified diff, without file names; empty when the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const [old, now] = [toLines(before), toLines(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let tail = 0;
  while (tail < old.length - start && tail < now.length - start && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const changes = compare(old.slice(start, old.length - tail), now.slice(start, now.length - tail));
  if (changes.length === 0) return '';
  const lead = old.slice(Math.max(0, start - CONTEXT), start);
  const trail = old.slice(old.length - tail, old.length - tail + CONTEXT);
  const same = (line: string): Op => ({ tag: ' ', line });
  return hunks([...lead.map(same), ...changes, ...trail.map(same)], start - lead.length);
}

/** Lines with their ends, so that a missing last newline is a difference too. */
function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function compare(old: string[], now: string[]): Op[] {
  if (old.length * now.length > MAX_PAIRS) return [...removed(old), ...added(now)];
  const width = now.length + 1;
  // common[i * width + j]: length of the longest common subsequence of old from i and now from j.
  const common = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const [below, right] = [common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0];
      common[i * width + j] = old[i] === now[j] ? 1 + (common[(i + 1) * width + j + 1] ?? 0) : Math.max(below, right);
    }
  }
  const ops: Op[] = [];
  let [i, j] = [0, 0];
  for (const [x, y] of commonPairs(old, now, common)) {
    ops.push(...removed(old.slice(i, x)), ...added(now.slice(j, y)), { tag: ' ', line: old[x] ?? '' });
    [i, j] = [x + 1, y + 1];
  }
  return [...ops, ...removed(old.slice(i)), ...added(now.slice(j))];
}

function commonPairs(old: string[], now: string[], common: Uint32Array): [number, number][] {
  const width = now.length + 1;
  const pairs: [number, number][] = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) pairs.push([i++, j++]);
    else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return pairs;
}

const removed = (lines: string[]): Op[] => lines.map((line) => ({ tag: '-', line }));
const added = (lines: string[]): Op[] => lines.map((line) => ({ tag: '+', line }));

/** Unchanged stretches longer than the context of both sides are left out. */
function hunks(ops: Op[], offset: number): string {
  const isNear = ops.map((_, at) =>
    ops.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((op) => op.tag !== ' '),
  );
  let [text, oldLine, newLine] = ['', offset, offset];
  for (let at = 0; at < ops.length; ) {
    const end = endOfRun(isNear, at);
    const part = ops.slice(at, end);
    const oldCount = part.filter((op) => op.tag !== '+').length;
    const newCount = part.filter((op) => op.tag !== '-').length;
    if (isNear[at]) {
      text += `@@ -${range(oldLine, oldCount)} +${range(newLine, newCount)} @@\n`;
      text += part.map((op) => op.tag + ended(op.line)).join('');
    }
    [at, oldLine, newLine] = [end, oldLine + oldCount, newLine + newCount];
  }
  return text;
}

function endOfRun(flags: boolean[], start: number): number {
  let end = start;
  while (end < flags.length && flags[end] === flags[start]) end++;
  return end;
}

/** An empty range names the line before it, as diff does. */
function range(before: number, count: number): string {
  const first = count === 0 ? before : before + 1;
  return count === 1 ? `${first}` : `${first},${count}`;
}

function ended(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;
}
