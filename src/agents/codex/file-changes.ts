import { capJson, capText } from '../../base/cap.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import type { EventOf } from '../../protocol/events.ts';
import type { FileUpdate } from './schema.ts';
import type { ChangedFile, FileChanges } from './state.ts';

const DIFF_CAP = 16 * 1024;

type FileEdit = EventOf<'file_edit'>['payload'];

/** The path a change leaves behind, and the one it came from. */
function place({ path, kind }: FileUpdate): ChangedFile {
  return kind.move_path == null ? { path, kind: kind.type } : { path: kind.move_path, kind: 'rename', from: path };
}

export function fileEdits(id: string, changes: FileUpdate[]): FileEdit[] {
  return changes.map((change) => ({ id, ...place(change), diff: capText(unified(change), DIFF_CAP) }));
}

/** What a person must see to approve a change, small enough for the state. `digest` stands for what had to be cut. */
export function approvable(changes: FileUpdate[]): FileChanges {
  const places = changes.map(place);
  const diffs = changes.map((change) => `--- ${change.path}\n+++ ${place(change).path}\n${unified(change)}`);
  const seen = { changes: places, diff: diffs.join('') };
  return { ...(capJson(seen, DIFF_CAP) as typeof seen), digest: fingerprint(changes) };
}

/** Codex gives hunks for an update, the bare content for a new or deleted file, and notes a move below the hunks. */
function unified({ kind, diff }: FileUpdate): string {
  if (kind.type === 'update') return diff.replace(/\n\nMoved to: .*$/s, '');
  const lines = diff.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const [sign, range] = kind.type === 'add' ? ['+', `-0,0 +1,${lines.length}`] : ['-', `-1,${lines.length} +0,0`];
  const body = lines.map((line) => sign + (line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`));
  return `@@ ${range} @@\n${body.join('')}`;
}
