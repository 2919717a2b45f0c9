import { createHash } from 'node:crypto';
import type { TokenCounter } from '../../base/tokens.ts';

/** What Reef's own text may take of every prompt, in tokens. Together under 5,000. */
export const OWN_LIMITS = { tools: 1_600, system: 600, task: 1_800, snapshot: 800, reminder: 150 } as const;
/** A project's instruction files are not Reef's text: frozen in the prefix, counted apart. */
export const INSTRUCTIONS_LIMIT = 4_000;
/** The whole prompt of mode `snapshot`, and its shares of task and snapshot. */
export const SNAPSHOT_MODE = { total: 5_000, task: 900, snapshot: 500 } as const;

export function artifactId(text: string): string {
  return `a:${createHash('sha256').update(text).digest('hex').slice(0, 7)}`;
}

/** What stands in the place of text that was cut, with the call that brings it back. */
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
