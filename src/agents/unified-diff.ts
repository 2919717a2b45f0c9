import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from 'diff';

/** With more, all that lies between the first and the last change is shown as replaced: the shortest diff would hold up the daemon. */
const MAX_CHANGED_LINES = 120;
const MAX_CHARACTERS = 32 * 1024;
const CONTEXT = 3;

/** The hunks of a unified diff, without file names; empty when the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return '';
  const { start, old, now } = changedPart(before, after);
  const options = { context: CONTEXT, maxEditLength: MAX_CHANGED_LINES };
  const isSmall = old.length + now.length <= MAX_CHARACTERS;
  const patch = isSmall ? structuredPatch('', '', old, now, undefined, undefined, options) : undefined;
  const skipped = before.slice(0, start).split('\n').length - 1;
  const moved = (hunk: StructuredPatchHunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + skipped,
    newStart: hunk.newStart + skipped,
  });
  return formatHunks((patch?.hunks ?? [replacement(old, now)]).map(moved));
}

/** Whole lines from just before the first difference to just after the last one. */
function changedPart(before: string, after: string) {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same++;
  let end = 0;
  const atEnd = (text: string) => text.charCodeAt(text.length - 1 - end);
  while (end < shorter - same && atEnd(before) === atEnd(after)) end++;
  let start = same;
  for (let line = 0; line <= CONTEXT && start > 0; line++) start = before.lastIndexOf('\n', start - 1);
  start = Math.max(0, start + (start > 0 ? 1 : 0));
  let stop = before.length - end;
  for (let line = 0; line <= CONTEXT && stop < before.length; line++)
    stop = before.indexOf('\n', stop) + 1 || before.length;
  return { start, old: before.slice(start, stop), now: after.slice(start, after.length - (before.length - stop)) };
}

export function formatHunks(hunks: StructuredPatchHunk[]): string {
  if (hunks.length === 0) return '';
  const unnamed = { oldFileName: undefined, oldHeader: undefined, newFileName: undefined, newHeader: undefined };
  return formatPatch({ ...unnamed, hunks }, OMIT_HEADERS);
}

/** More than any reader keeps of a diff. */
const MAX_REPLACED = 128 * 1024;

function replacement(before: string, after: string): StructuredPatchHunk {
  const [old, now] = [toLines(before.slice(0, MAX_REPLACED)), toLines(after.slice(0, MAX_REPLACED))];
  const lines = [...marked('-', old), ...marked('+', now)];
  return { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines };
}

/** Lines with their ends, so that a missing last newline is seen. */
function toLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function marked(mark: string, lines: string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith('\n') ? [mark + line.slice(0, -1)] : [mark + line, '\\ No newline at end of file'],
  );
}
