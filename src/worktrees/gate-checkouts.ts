import type { Deps } from './deps.ts';
import type { StoredWorktree } from './records.ts';
import { removeEntry } from './registry.ts';
import { runTeardown } from './scripts.ts';

/** Whose files gates judge in a checkout of their own. */
export type GateOwner = Pick<StoredWorktree, 'id' | 'branch' | 'base' | 'path'>;

const nameOf = (id: string) => `scratch-${id}`;

/** One gate at a time works in it. */
export function withGateLock<T>({ locks }: Deps, id: string, work: () => Promise<T>): Promise<T> {
  return locks.run(`gates ${id}`, work);
}

/** The record of the worktree, for scripts that run in its checkout for gates. */
export async function gateRow(deps: Deps, row: GateOwner): Promise<GateOwner & { portBase: number }> {
  const path = deps.layout.scratchOf(row.id);
  const portBase = deps.ports.held(nameOf(row.id)) ?? (await deps.ports.reserve(nameOf(row.id), path));
  return { ...row, path, portBase, branch: `${row.branch}-gates` };
}

/** Call it within the lock. */
export async function dropGateCheckout(deps: Deps, row: GateOwner): Promise<void> {
  if (deps.gateCheckouts.delete(row.id)) await runTeardown(deps, await gateRow(deps, row));
  await removeEntry(deps, deps.layout.scratchOf(row.id));
  deps.ports.release(nameOf(row.id));
}

/** Removes those of an earlier daemon. */
export async function dropUnknownGateCheckouts(deps: Deps, registered: readonly { path: string }[]): Promise<void> {
  const before = deps.layout.scratchOf('');
  for (const { path } of registered) {
    const id = path.startsWith(before) ? path.slice(before.length) : undefined;
    if (id === undefined || deps.gateCheckouts.has(id) || deps.locks.isBusy(`gates ${id}`)) continue;
    await withGateLock(deps, id, () => removeEntry(deps, path));
    deps.ports.release(nameOf(id));
  }
}
