import { formatPatch, OMIT_HEADERS, type StructuredPatchHunk, structuredPatch } from 'diff';

/** With more changed lines the whole file is shown as replaced: the shortest diff would cost too much time. */
const MAX_CHANGED_LINES = 600;

/** The hunks of a unified diff, without file names; empty when the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  const options = { context: 3, maxEditLength: MAX_CHANGED_LINES };
  const patch = structuredPatch('', '', before, after, undefined, undefined, options);
  return formatHunks(patch?.hunks ?? [replacement(before, after)]);
}

export function formatHunks(hunks: StructuredPatchHunk[]): string {
  if (hunks.length === 0) return '';
  const unnamed = { oldFileName: undefined, oldHeader: undefined, newFileName: undefined, newHeader: undefined };
  return formatPatch({ ...unnamed, hunks }, OMIT_HEADERS);
}

function replacement(before: string, after: string): StructuredPatchHunk {
  const [old, now] = [toLines(before), toLines(after)];
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
