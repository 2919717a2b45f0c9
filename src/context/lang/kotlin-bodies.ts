const HOLDER = /\b(?:class|object|interface)\b/;
/** After these a body may end as it is. */
const NEEDS_NONE = new Set(['{', ';', ',', '(', '[']);

/**
 * The grammar wants the last member of a body to end with its line: `class Cart { val size = 1 }` reads as an error that swallows
 * what follows. The parser is shown a semicolon in place of the blank before the brace, so every character keeps its place.
 */
export function endMembers(text: string): string {
  if (!HOLDER.test(text)) return text;
  return text.split('\n').map(endInLine).join('\n');
}

function endInLine(line: string): string {
  const at = line.search(HOLDER);
  const brace = at === -1 ? -1 : line.indexOf('{', at);
  if (brace === -1) return line;
  const units = line.split('');
  let isInString = false;
  for (let index = brace + 1; index < units.length; index++) {
    const unit = units[index];
    if (unit === '"' && units[index - 1] !== '\\') isInString = !isInString;
    if (unit === '}' && !isInString && isMemberBefore(line, index)) units[index - 1] = ';';
  }
  return units.join('');
}

/** A blank to put the semicolon in, and something before it that it can end. */
function isMemberBefore(line: string, brace: number): boolean {
  const before = line.slice(Math.max(0, brace - 80), brace);
  const member = before.trimEnd();
  const last = member.at(-1) ?? '{';
  return member.length < before.length && !NEEDS_NONE.has(last) && !member.endsWith('->');
}
