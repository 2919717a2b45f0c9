import { createHash } from 'node:crypto';
import type { TokenCounter } from '../../base/tokens.ts';

/** The tokens that Reef's own text may take in every prompt, under 5,000 in all. */
export const OWN_LIMITS = { tools: 1_600, system: 600, task: 1_800, snapshot: 800, reminder: 150 } as const;
/** A project's instruction files are not Reef's text and are counted apart. */
export const INSTRUCTIONS_LIMIT = 4_000;
/** The limit of a prompt in mode `snapshot`, and the shares of task and snapshot. */
export const SNAPSHOT_MODE = { total: 5_000, task: 900, snapshot: 500 } as const;

export function artifactId(text: string): string {
  return `a:${createHash('sha256').update(text).digest('hex').slice(0, 7)}`;
}

/** Stands in place of text that was cut, and names the call that brings it back. */
function cutMark(removed: string, call: string): string {
  const lines = removed.split('\n').length;
  const size = removed.length.toLocaleString('en-US');
  return `[… ${size} chars, ${lines} ${lines === 1 ? 'line' : 'lines'}: artifact_read ${call}]`;
}

export interface Cut {
  text: string;
  /** Set when text was cut: the caller must store the whole text under this id. */
  id?: string;
}

/** Keeps the beginning and the end, and cuts at line breaks when there are some nearby. */
export function cutMiddle(text: string, limit: number, name?: string): Cut {
  if (text.length <= limit) return { text };
  const id = name ?? artifactId(text);
  const half = Math.floor(limit / 2);
  const from = lineBreakBefore(text, half);
  const to = Math.max(from, lineBreakAfter(text, text.length - half));
  return { id, text: `${text.slice(0, from)}\n${cutMark(text.slice(from, to), `"${id}"`)}\n${text.slice(to)}` };
}

/** Keeps one piece from the start and says where to read on: a file must not have a gap in the middle. */
export function cutEnd(text: string, limit: number): Cut {
  if (text.length <= limit) return { text };
  const id = artifactId(text);
  const at = lineBreakBefore(text, limit);
  return { id, text: `${text.slice(0, at)}\n${cutMark(text.slice(at), `"${id}" offset ${at}`)}` };
}

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
