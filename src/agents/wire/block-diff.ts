const CONTEXT = 3;

/** A unified diff of one hunk: all between the first and the last line that differ. Empty for equal texts. */
export function blockDiff(before: string, after: string): string {
  if (before === after) return '';
  const [old, now] = [toLines(before), toLines(after)];
  const shorter = Math.min(old.length, now.length);
  let start = 0;
  while (start < shorter && old[start] === now[start]) start++;
  let tail = 0;
  while (tail < shorter - start && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const first = Math.max(0, start - CONTEXT);
  const rest = Math.max(0, tail - CONTEXT);
  const range = (lines: string[]) => {
    const count = lines.length - rest - first;
    return `${count === 0 ? first : first + 1},${count}`;
  };
  const marked = (mark: string, lines: string[]) => lines.map((line) => mark + ended(line)).join('');
  return [
    `@@ -${range(old)} +${range(now)} @@\n`,
    marked(' ', old.slice(first, start)),
    marked('-', old.slice(start, old.length - tail)),
    marked('+', now.slice(start, now.length - tail)),
    marked(' ', old.slice(old.length - tail, old.length - rest)),
  ].join('');
}

/** Lines with their ends, so that a missing last newline is a difference too. */
function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function ended(line: string): string {
  return line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;
}
