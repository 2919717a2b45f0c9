import { createHash } from 'node:crypto';
import type { TokenCounter } from '../../base/tokens.ts';

export function artifactId(text: string): string {
  return `a:${createHash('sha256').update(text).digest('hex').slice(0, 7)}`;
}

/** What stands in the place of text that was cut, with the call that brings it back (S-37). */
function cutMark(removed: string, call: string): string {
  const lines = removed.split('\n').length;
  const size = String(removed.length).replace(/\B(?=(\d{3})+$)/g, ',');
  return `[… ${size} chars, ${lines} ${lines === 1 ? 'line' : 'lines'}: artifact_read ${call}]`;
}

export interface Cut {
  text: string;
  /** Present when something is missing: the whole text must be stored under it. */
  id?: string;
}

/** Keeps the beginning and the end, cut at line breaks where there are some near. */
export function cutMiddle(text: string, limit: number, name?: string): Cut {
  if (text.length <= limit) return { text };
  const id = name ?? artifactId(text);
  const half = Math.floor(limit / 2);
  const from = lineBreakBefore(text, half);
  const to = Math.max(from, lineBreakAfter(text, text.length - half));
  return { id, text: `${text.slice(0, from)}\n${cutMark(text.slice(from, to), `"${id}"`)}\n${text.slice(to)}` };
}

/** Keeps one piece from the start and says where to read on: a reader of a file wants no gap in the middle. */
export function cutEnd(text: string, limit: number): Cut {
  if (text.length <= limit) return { text };
  const id = artifactId(text);
  const at = lineBreakBefore(text, limit);
  return { id, text: `${text.slice(0, at)}\n${cutMark(text.slice(at), `"${id}" offset ${at}`)}` };
}

/** The same in tokens: as much of head and tail as the budget allows. */
export function cutToTokens(
  counter: TokenCounter,
  text: string,
  { tokens, name }: { tokens: number; name?: string },
): Cut {
  let count = counter.count(text);
  if (count <= tokens) return { text };
  let limit = text.length;
  let cut: Cut = { text };
  while (count > tokens && limit > 8) {
    limit = Math.floor(Math.min(limit - 1, limit * (tokens / count) * 0.98));
    cut = cutMiddle(text, limit, name);
    count = counter.count(cut.text);
  }
  return cut;
}

const NEAR = 200;

function lineBreakBefore(text: string, at: number): number {
  const found = text.lastIndexOf('\n', at);
  return found > 0 && at - found <= Math.min(NEAR, at / 2) ? found : wholeCharacter(text, at);
}

function lineBreakAfter(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found >= 0 && found - at <= Math.min(NEAR, (text.length - at) / 2) ? found + 1 : wholeCharacter(text, at);
}

function wholeCharacter(text: string, at: number): number {
  return /[\udc00-\udfff]/.test(text[at] ?? '') ? at - 1 : at;
}
