import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { listRefs } from '../../git/refs.ts';
import type { ReconcileReport } from '../../protocol/worktrees.ts';
import type { Deps } from '../deps.ts';
import { dropRefs } from '../keep/remove.ts';
import { emptyTrash } from '../keep/trash.ts';
import { passing, refs } from '../layout.ts';
import { without } from '../records.ts';
import { listRegistered } from '../registry.ts';
import { classify, type Seen } from './classify.ts';
import { mendEntries, recover } from './recover.ts';

/**
 * At start and on demand: finishes what was interrupted, then says what there is. It looks at everything before it
 * writes anything, so a look that fails changes nothing, and it removes nothing that it has not itself begun to.
 */
export async function reconcile(deps: Deps): Promise<ReconcileReport> {
  await mendEntries(deps);
  await look(deps);
  const recovered: string[] = [];
  for (const { id } of deps.records.open()) {
    const key = `worktree ${id}`;
    if (deps.locks.isBusy(key)) continue;
    const said = await deps.locks.run(key, () => recover(deps, id));
    if (said !== undefined) recovered.push(said);
  }
  const classes = classify(await look(deps));
  for (const id of classes.ghosts) markLost(deps, id);
  await emptyTrash(deps);
  const open = new Set(deps.records.open().map(({ id }) => id));
  const ended = deps.records.all().filter(({ id }) => !open.has(id));
  await dropRefs(
    deps,
    ended.flatMap(({ id }) => passing(id)),
  );
  deps.released();
  return { ...classes, recovered };
}

/** All that looking takes: `reef doctor` has no more than that. */
export interface Sight extends Pick<Deps, 'git' | 'checkout' | 'clock' | 'locks'> {
  records: Pick<Deps['records'], 'all'>;
  layout: Pick<Deps['layout'], 'folder'>;
}

export async function look(deps: Sight): Promise<Seen> {
  const { git, checkout, records, layout } = deps;
  const registered = await listRegistered(deps);
  const names = await readdir(layout.folder, { withFileTypes: true });
  const inside = names.filter((entry) => entry.isDirectory() && entry.name !== '.trash');
  const held = await listRefs(git, checkout, 'refs/reef/held');
  const kept = new Set(held.map(({ ref }) => ref));
  const all = records.all();
  return {
    records: all,
    registered: registered.filter(({ path }) => path !== checkout.toplevel),
    folders: new Set(inside.map(({ name }) => join(layout.folder, name))),
    home: layout.folder,
    kept: new Set(all.filter(({ id }) => kept.has(refs.held(id))).map(({ id }) => id)),
  };
}

/** Branch and refs stay; the worktree can be made again from them. */
function markLost(deps: Deps, id: string): void {
  if (deps.locks.isBusy(`worktree ${id}`)) return;
  const { path, title } = deps.records.get(id);
  deps.records.change(id, (now) => ({ ...without(now, 'intent', 'pending'), status: 'lost', path: null }));
  deps.ports.release(id);
  const where = path === null ? 'the ref that held it' : path;
  deps.announce({ kind: 'lost', worktreeId: id, message: `${title}: ${where} is gone.` });
}
