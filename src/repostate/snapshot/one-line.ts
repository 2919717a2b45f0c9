import { printable } from '../../base/printable.ts';
import type { Redact } from '../../base/redact.ts';

/** A value as part of one line: redacted, without line breaks or invisible characters, so that it cannot forge a section. */
export function oneLine(value: string, redact: Redact = (text) => text): string {
  return printable(redact(value)).replaceAll('\n', '␊').replaceAll('\t', '␉');
}

/** Cuts at the end, never inside a surrogate pair. */
export function cutTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Cuts in the middle: the beginning and the end of a path tell most. */
export function elide(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.floor((width - 1) / 3);
  const tail = width - 1 - head;
  return `${text.slice(0, head).replace(/[\ud800-\udbff]$/, '')}…${text.slice(-tail).replace(/^[\udc00-\udfff]/, '')}`;
}
