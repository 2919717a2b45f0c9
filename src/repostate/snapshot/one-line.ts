import { printable } from '../../base/printable.ts';
import type { Redact } from '../../base/redact.ts';

/** A value as part of one line: redacted, without breaks or anything invisible, so that it can forge no section. */
export function oneLine(value: string, redact: Redact = (text) => text): string {
  return printable(redact(value)).replaceAll('\n', '␊').replaceAll('\t', '␉');
}

/** Cut at the end, no pair of surrogates split. */
export function cutTo(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Cut in the middle: of a path the beginning and the end tell most. */
export function elide(text: string, width: number): string {
  if (text.length <= width) return text;
  const head = Math.floor((width - 1) / 3);
  const tail = width - 1 - head;
  return `${text.slice(0, head).replace(/[\ud800-\udbff]$/, '')}…${text.slice(-tail).replace(/^[\udc00-\udfff]/, '')}`;
}
