import { parsePatch, type StructuredPatch, type StructuredPatchHunk } from 'diff';

export type Side = 'old' | 'new';

export interface Line {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** Counted from 1 in the file as it was, and as it is. */
  old?: number;
  new?: number;
}

interface Hunk {
  /** The function or section that git found it in. */
  title: string;
  lines: readonly Line[];
}

export interface FileDiff {
  path: string;
  from?: string;
  what: 'added' | 'removed' | 'renamed' | 'changed';
  /** The ids of its content: a comment holds for these and no others. */
  blobs: Partial<Record<Side, string>>;
  added: number;
  removed: number;
  hunks: readonly Hunk[];
  /** Why there are no lines to see, or fewer than there are. */
  note?: string;
}

/** A patch of git, file by file. What was cut at the end loses its last hunk, and says so. */
export function readPatch(patch: string): readonly FileDiff[] {
  return patch
    .split(/^(?=diff --git )/m)
    .filter((part) => part.startsWith('diff --git '))
    .flatMap((part) => readFile(part) ?? []);
}

function readFile(part: string): FileDiff | undefined {
  const { parsed, isCut } = parse(part);
  if (!parsed) return undefined;
  const { oldFileName = '', newFileName = '', isRename, isCreate, isDelete, isBinary } = parsed;
  const [before, path] = [bare(oldFileName), bare(isDelete ? oldFileName : newFileName)];
  const [, old, now] = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/m.exec(part.slice(0, headEnd(part))) ?? [];
  const hunks = readHunks(parsed.hunks, part);
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const note = isCut ? 'The rest of this file is cut off' : noteOf(parsed, lines.length, isBinary);
  return {
    path,
    ...(isRename && { from: before }),
    what: isCreate ? 'added' : isDelete ? 'removed' : isRename ? 'renamed' : 'changed',
    blobs: { ...(old !== undefined && !isCreate && { old }), ...(now !== undefined && !isDelete && { new: now }) },
    added: lines.filter(({ kind }) => kind === 'added').length,
    removed: lines.filter(({ kind }) => kind === 'removed').length,
    hunks,
    ...(note !== undefined && { note }),
  };
}

/** Without its last hunk, and the next to last, until what is left is whole. */
function parse(part: string): { parsed: StructuredPatch | undefined; isCut: boolean } {
  let text = part;
  for (;;) {
    try {
      const [parsed] = parsePatch(text);
      return { parsed, isCut: text !== part };
    } catch {
      const at = text.lastIndexOf('\n@@');
      if (at < 0) return { parsed: undefined, isCut: true };
      text = text.slice(0, at + 1);
    }
  }
}

const bare = (name: string) => name.replace(/^[ab]\//, '');

function headEnd(part: string): number {
  const at = part.search(/^@@/m);
  return at < 0 ? part.length : at;
}

function noteOf({ oldMode, newMode }: StructuredPatch, lines: number, isBinary = false): string | undefined {
  if (isBinary) return 'Not text: its content is not shown';
  if (oldMode !== undefined && newMode !== undefined) return `Its mode was ${oldMode} and is ${newMode}`;
  return lines === 0 ? 'No line of it differs' : undefined;
}

function readHunks(hunks: readonly StructuredPatchHunk[], part: string): Hunk[] {
  const titles = [...part.matchAll(/^@@[^@]*@@ ?(.*)$/gm)].map(([, title = '']) => title);
  // Ends of lines as on Windows are worth a word only where a change mixes them.
  const isCrlf = hunks.every(({ lines }) => lines.every((line) => line.endsWith('\r') || line.startsWith('\\')));
  return hunks.map((hunk, at) => ({ title: titles[at] ?? '', lines: numbered(hunk, isCrlf) }));
}

const KINDS: Readonly<Record<string, Line['kind']>> = { '+': 'added', '-': 'removed', ' ': 'same' };

function numbered({ lines, oldStart, newStart }: StructuredPatchHunk, isCrlf: boolean): Line[] {
  let [old, now] = [oldStart, newStart];
  return lines.flatMap((line): Line[] => {
    const kind = KINDS[line[0] ?? ' '];
    if (!kind) return [];
    const text = isCrlf ? line.slice(1, -1) : line.slice(1);
    return [{ kind, text, ...(kind !== 'added' && { old: old++ }), ...(kind !== 'removed' && { new: now++ }) }];
  });
}

/** Two sides of one line: what was removed stands beside what came in its place. */
export interface Beside {
  old?: Line;
  new?: Line;
}

export function sideBySide(lines: readonly Line[]): Beside[] {
  const rows: Beside[] = [];
  let [removed, added]: [Line[], Line[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [before, after] = [removed[at], added[at]];
      rows.push({ ...(before && { old: before }), ...(after && { new: after }) });
    }
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === 'same') {
      flush();
      rows.push({ old: line, new: line });
    } else (line.kind === 'removed' ? removed : added).push(line);
  }
  flush();
  return rows;
}
