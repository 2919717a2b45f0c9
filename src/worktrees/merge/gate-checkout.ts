import { createHash } from 'node:crypto';
import { lstat, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Checkout } from '../../git/checkout.ts';
import type { Oid } from '../../git/ref-name.ts';
import { listOthers } from '../../git/tree.ts';
import { fillWorktree } from '../../git/worktree.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Deps, GateCheckout } from '../deps.ts';
import { dropGateCheckout, type GateOwner, gateRow, withGateLock } from '../gate-checkouts.ts';
import { exists } from '../layout.ts';
import { copyRepositoryFiles, filesBelow } from '../make/build.ts';
import { addEntry, openWorktree } from '../registry.ts';
import { runSetup } from '../scripts.ts';
import { setupInputs } from './setup-inputs.ts';

export interface Judged {
  commit: Oid;
  tree: Oid;
  /** Ends the set-up of its checkout. */
  abort?: AbortSignal | undefined;
}

export interface GateFolder {
  folder: string;
  /** The gates that have run on these files here: what they built is still there. Whoever runs one adds it. */
  ran: Set<string>;
  /** How long its set-up took this time: 0 where the one before still served. */
  setUpSeconds: number;
}

/**
 * Calls `use` with a checkout of exactly these files, in which no agent has worked. There is one for each worktree, and
 * the next files only replace what differs. Its set-up runs again when something that it depends on has changed, or when
 * a gate has touched what the set-up made: a gate runs code of the agent's, which could change what judges the next files.
 */
export function withGateCheckout<T>(
  deps: Deps,
  row: GateOwner,
  judged: Judged,
  use: (at: GateFolder) => Promise<T>,
): Promise<T> {
  return withGateLock(deps, row.id, async () => {
    const folder = deps.layout.scratchOf(row.id);
    const inputs = await setupInputs(deps, judged.commit);
    const known = deps.gateCheckouts.get(row.id);
    const isUsable = known?.inputs === inputs && (await moveTo(deps, { known, folder, judged }));
    if (isUsable) {
      if (known.tree !== judged.tree) known.ran.clear();
      known.tree = judged.tree;
      return use({ folder, ran: known.ran, setUpSeconds: 0 });
    }
    await dropGateCheckout(deps, row);
    const ran = new Set<string>();
    const setUpSeconds = await make(deps, { row, judged, inputs, folder, ran });
    return use({ folder, ran, setUpSeconds });
  });
}

/**
 * Runs a gate. It may need what gates before it build: those of `earlier` that have not run here, because they passed on
 * these files elsewhere, run only if it fails without.
 */
export async function runInOrder<R extends { passed: boolean }>(
  { ran }: Pick<GateFolder, 'ran'>,
  { gate, earlier, run }: { gate: string; earlier: readonly string[]; run(gate: string): Promise<R> },
): Promise<R> {
  const alone = await run(gate);
  ran.add(gate);
  const absent = earlier.filter((name) => !ran.has(name));
  if (alone.passed || absent.length === 0) return alone;
  for (const name of absent) {
    await run(name);
    ran.add(name);
  }
  return run(gate);
}

interface Wanted {
  row: GateOwner;
  judged: Judged;
  inputs: string;
  folder: string;
  ran: Set<string>;
}

/** How long its set-up took. */
async function make(deps: Deps, { row, judged, inputs, folder, ran }: Wanted): Promise<number> {
  const { commit, tree, abort } = judged;
  const checkout = await addEntry(deps, { path: folder, commit, reason: `reef scratch ${row.id}` });
  const scratch = await gateRow(deps, row);
  await copyRepositoryFiles(deps, scratch);
  const { state, message, seconds = 0 } = await runSetup(deps, scratch, abort);
  const made = state === 'failed' ? Buffer.of() : await untracked(deps, checkout);
  deps.gateCheckouts.set(row.id, { inputs, tree, ran, made, state: await stateOf(folder, made) });
  if (state !== 'failed') return seconds;
  await dropGateCheckout(deps, row);
  abort?.throwIfAborted();
  throw await notSetUp(deps, row, { inputs, message: (message ?? '').replaceAll(folder, row.path ?? folder) });
}

/** Where the change itself broke the set-up, mending it is the agent's work. */
async function notSetUp(
  deps: Deps,
  { id, base }: GateOwner,
  { inputs, message }: { inputs: string; message: string },
): Promise<ReefError> {
  const isByChange = (await setupInputs(deps, base.commit)) !== inputs;
  const what = `No gate ran: the set-up of the checkout in which the gates of ${id} were to run failed. ${message}`;
  return new ReefError('gates_not_set_up', what, {
    details: { command: `reef worktree gates ${id}`, isByChange, log: message },
  });
}

/** False if it cannot be trusted any more. */
async function moveTo(
  deps: Deps,
  { known, folder, judged }: { known: GateCheckout; folder: string; judged: Judged },
): Promise<boolean> {
  try {
    if (known.state === undefined || !(await exists(folder))) return false;
    const checkout = await openWorktree(deps, folder);
    await fillWorktree(deps.git, checkout, judged.commit);
    if ((await stateOf(folder, known.made)) !== known.state) return false;
    if (known.tree !== judged.tree) await removeAdded(folder, known.made, await untracked(deps, checkout));
    return true;
  } catch (error) {
    deps.log.warn('the checkout for gates is made anew', { folder, error });
    return false;
  }
}

/** Every file that is not tracked, ignored or not. */
async function untracked({ git }: Deps, checkout: Checkout): Promise<Buffer> {
  const names: string[] = [];
  for await (const name of listOthers(git, checkout)) {
    if (!name.endsWith('/')) names.push(`${name}\0`);
    else
      for await (const file of filesBelow(join(checkout.toplevel, name)))
        names.push(`${file.slice(checkout.toplevel.length + 1)}\0`);
  }
  return Buffer.from(names.join(''));
}

const AT_ONCE = 256;

function* batches(names: Buffer): Generator<string[]> {
  const all = names.toString('utf8').split('\0').slice(0, -1);
  for (let from = 0; from < all.length; from += AT_ONCE) yield all.slice(from, from + AT_ONCE);
}

/** Undefined if one is missing. The kernel sets the time of a change, which no program can choose. */
async function stateOf(folder: string, names: Buffer): Promise<string | undefined> {
  const hash = createHash('sha256');
  for (const batch of batches(names)) {
    const stats = await Promise.all(batch.map((name) => lstat(join(folder, name)).catch(() => undefined)));
    for (const stat of stats) {
      if (stat === undefined) return undefined;
      hash.update(`${stat.ino} ${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}\n`);
    }
  }
  return hash.digest('hex');
}

/** What gates built from other files. */
async function removeAdded(folder: string, made: Buffer, now: Buffer): Promise<void> {
  const kept = new Set(made.toString('utf8').split('\0'));
  const emptied = new Set<string>();
  for (const batch of batches(now)) {
    const added = batch.filter((name) => !kept.has(name));
    await Promise.all(added.map((name) => rm(join(folder, name), { force: true })));
    for (const name of added) for (let up = dirname(name); up !== '.'; up = dirname(up)) emptied.add(up);
  }
  const deepestFirst = [...emptied].sort((a, b) => b.length - a.length);
  for (const name of deepestFirst) await rmdir(join(folder, name)).catch(() => undefined); // it holds other files
}
