import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listRefs } from '../../git/refs.ts';
import type { ReconcileReport } from '../../protocol/worktrees.ts';
import { dropRefs } from '../keep/remove.ts';
import { emptyTrash } from '../keep/trash.ts';
import { passing, refs } from '../layout.ts';
import type { Parts } from '../parts.ts';
import { without } from '../records.ts';
import { listRegistered } from '../registry.ts';
import { classify, type Seen } from './classify.ts';
import { mendEntries, recover } from './recover.ts';

/**
 * At start and on demand: finishes what was interrupted, then says what there is (T-40). It looks at everything before it
 * writes anything, so a look that fails changes nothing, and it removes nothing that it has not itself begun to (T-41).
 */
export async function reconcile(parts: Parts): Promise<ReconcileReport> {
  await mendEntries(parts);
  await look(parts);
  const recovered: string[] = [];
  for (const { id } of parts.records.open()) {
    const key = `worktree ${id}`;
    if (parts.locks.isHeld(key)) continue;
    const said = await parts.locks.hold(key, () => recover(parts, id));
    if (said !== undefined) recovered.push(said);
  }
  const classes = classify(await look(parts));
  for (const id of classes.ghosts) markLost(parts, id);
  await emptyTrash(parts);
  const open = new Set(parts.records.open().map(({ id }) => id));
  const ended = parts.records.all().filter(({ id }) => !open.has(id));
  await dropRefs(
    parts,
    ended.flatMap(({ id }) => passing(id)),
  );
  parts.released();
  return { ...classes, recovered };
}

/** All that looking takes: `reef doctor` has no more than that. */
export interface Sight extends Pick<Parts, 'git' | 'place' | 'clock' | 'locks'> {
  records: Pick<Parts['records'], 'all'>;
  layout: Pick<Parts['layout'], 'folder'>;
}

export async function look(parts: Sight): Promise<Seen> {
  const { git, place, records, layout } = parts;
  const registered = await listRegistered(parts);
  const names = await readdir(layout.folder, { withFileTypes: true });
  const inside = names.filter((entry) => entry.isDirectory() && entry.name !== '.trash');
  const held = await listRefs(git, place, 'refs/reef/held');
  const kept = new Set(held.map(({ ref }) => ref));
  const all = records.all();
  return {
    records: all,
    registered: registered.filter(({ path }) => path !== place.toplevel),
    folders: new Set(inside.map(({ name }) => join(layout.folder, name))),
    home: layout.folder,
    kept: new Set(all.filter(({ id }) => kept.has(refs.held(id))).map(({ id }) => id)),
  };
}

/** Branch and refs stay; the worktree can be made again from them. */
function markLost(parts: Parts, id: string): void {
  if (parts.locks.isHeld(`worktree ${id}`)) return;
  const { path, title } = parts.records.get(id);
  parts.records.change(id, (now) => ({ ...without(now, 'intent', 'pending'), status: 'lost', path: null }));
  parts.ports.release(id);
  const where = path === null ? 'the ref that held it' : path;
  parts.announce({ kind: 'lost', worktreeId: id, message: `${title}: ${where} is gone.` });
}
