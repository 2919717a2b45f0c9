import type { Node } from 'web-tree-sitter';

const MAX_UNITS = 200;

/** Character codes, because comparing letters as strings is slower. */
const ENDS_BEFORE: ReadonlySet<number> = new Set([...'\n{};,('].map((mark) => mark.charCodeAt(0)));

/** Modifiers such as `export const` precede the node. A brace or separator belongs to what came earlier. */
function lineStart(text: string, start: number): number {
  for (let at = start - 1; at >= 0 && start - at <= MAX_UNITS; at--) {
    if (ENDS_BEFORE.has(text.charCodeAt(at))) return at + 1;
  }
  return start;
}

function bodyOf(node: Node): Node | null {
  const body = node.childForFieldName('body');
  if (body !== null) return body;
  const value = node.childForFieldName('value') ?? node.childForFieldName('right');
  const named = value?.childForFieldName('body') ?? null;
  if (named !== null) return named;
  const last = node.lastNamedChild; // Kotlin names no fields
  return last !== null && /(^|_)(body|block)$|^compound_statement$/.test(last.type) ? last : null;
}

/** The definition's text up to its body; without one, its first line. */
export function signatureOf(text: string, { node, end: nodeEnd }: { node: Node; end: number }): string {
  const start = lineStart(text, node.startIndex);
  const body = bodyOf(node);
  // A body at the start of the node belongs to another definition.
  const end = body !== null && body.startIndex > node.startIndex ? body.startIndex : nodeEnd;
  const whole = text.slice(start, Math.min(end, start + 4 * MAX_UNITS)).trim();
  const shown = body === null ? (whole.split('\n', 1)[0] ?? '') : whole;
  return cut(
    shown
      .replace(/\s+/g, ' ')
      .replace(/^(then|else|do) /, '')
      .replace(/\s*(\{|=>|=|;|:)$/, (mark) => (mark.trim() === '=>' ? mark : '')),
  );
}

/** Never splits a surrogate pair. */
function cut(text: string): string {
  if (text.length <= MAX_UNITS) return text;
  const kept = text.slice(0, MAX_UNITS - 1);
  return `${kept.replace(/[\ud800-\udbff]$/, '')}…`;
}
