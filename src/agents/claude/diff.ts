import type { z } from 'zod';
import { capText } from '../../base/cap.ts';
import type { fileResult, hunk } from './schema.ts';
import { fieldOf } from './tools.ts';

const DIFF_CAP = 16 * 1024;

/** Hunks of a unified diff; the file stands beside it, in words a reader knows. */
export function diffOf({ content, structuredPatch }: z.infer<typeof fileResult>): string | undefined {
  const hunks = structuredPatch.map(hunkText);
  const text = hunks.length === 0 && content !== undefined ? addedText(content) : hunks.join('\n');
  return text === '' ? undefined : capText(text, DIFF_CAP);
}

function hunkText({ oldStart, oldLines, newStart, newLines, lines }: z.infer<typeof hunk>): string {
  return [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join('\n');
}

function addedText(content: string): string {
  const lines = linesOf(content);
  return lines.length === 0 ? '' : [`@@ -0,0 +1,${lines.length} @@`, ...lines.map((line) => `+${line}`)].join('\n');
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** What an edit that is only asked for would do, as far as its arguments tell: they name no line numbers. */
export function proposedDiff(input: unknown): string | undefined {
  const before = fieldOf(input, 'old_string');
  const after = fieldOf(input, 'new_string') ?? fieldOf(input, 'content') ?? fieldOf(input, 'new_source');
  if (after === undefined) return undefined;
  const removed = linesOf(before ?? '').map((line) => `-${line}`);
  const added = linesOf(after).map((line) => `+${line}`);
  return capText([...removed, ...added].join('\n'), DIFF_CAP);
}
