import { z } from 'zod';
import { gateViewSchema } from '../protocol/workflow.ts';
import type { BlockJob } from './block-table.ts';
import type { JournalRow } from './journal-table.ts';
import type { RunRequest } from './run-table.ts';
import type { Store } from './store.ts';

const text = z.string();
const worktreeSchema = z.strictObject({
  id: text,
  repository: text,
  taskId: text,
  status: text,
  isOpen: z.boolean(),
  doc: z.unknown(),
});
const runSchema = z.strictObject({
  id: text,
  worktreeId: text,
  state: z.enum(['waiting', 'begun', 'over']),
  doc: z.unknown(),
  /** Null if it is too long to be kept here: the run then comes back as ended, with its work in its worktree. */
  journal: z.array(z.strictObject({ n: z.number().int(), at: text, kind: text, key: text, data: text })).nullable(),
  /** What its journal keeps beside it, in base64 by address. */
  blobs: z.record(text, text),
  blocks: z.array(z.custom<BlockJob>()),
  verdicts: z.array(gateViewSchema),
});

/** Worktrees that are not merged or discarded yet, with their change plans, and the runs in them or on their way. */
export const keptWorkSchema = z.strictObject({ worktrees: z.array(worktreeSchema), runs: z.array(runSchema) });
export type KeptWork = z.infer<typeof keptWorkSchema>;
type KeptRun = KeptWork['runs'][number];

/** Of the journal of one run and of all together: the snapshot is written up to once a second. */
const MOST_BYTES = { run: 512 * 1024, all: 4 * 1024 * 1024 };
const MOST_ENTRIES = 10_000;

export function takeWork(store: Store): KeptWork {
  const worktrees = store.worktrees.openRows();
  const open = [...store.runs.open(), ...worktrees.flatMap(({ id }) => store.runs.byWorktree(id))];
  const runs = [...new Map(open.map((run) => [run.id, run])).values()];
  let room = MOST_BYTES.all;
  const kept = runs.map((run) => {
    const taken = takeRun(store, run, Math.min(room, MOST_BYTES.run));
    room -= taken.bytes;
    return taken.run;
  });
  return { worktrees, runs: kept };
}

function takeRun(store: Store, run: RunRequest, room: number): { run: KeptRun; bytes: number } {
  const rows = store.journal.after(run.id, 0, MOST_ENTRIES);
  const blobs = blobsOf(store, rows);
  const bytes = [...rows.map(({ data }) => data), ...Object.values(blobs)].reduce((sum, each) => sum + each.length, 0);
  const isKept = bytes <= room && rows.length < MOST_ENTRIES;
  const beside = { blocks: store.blocks.ofRun(run.id), verdicts: store.verdicts.ofRun(run.id) };
  const journal = isKept ? { journal: rows, blobs } : { journal: null, blobs: {} };
  return { run: { ...run, ...journal, ...beside }, bytes: isKept ? bytes : 0 };
}

/** Entries name what lies beside them by its hash. */
function blobsOf(store: Store, rows: readonly JournalRow[]): Record<string, string> {
  const named = new Set(rows.flatMap(({ data }) => data.match(/\b[0-9a-f]{64}\b/g) ?? []));
  return Object.fromEntries(
    [...named].flatMap((address) => {
      const bytes = store.journal.getBlob(address);
      return bytes ? [[address, bytes.toString('base64')]] : [];
    }),
  );
}

/** Only inside a transaction of a store that has nothing of it yet, or an older state of it. */
export function restoreWork(store: Store, { worktrees, runs }: KeptWork): void {
  for (const row of worktrees) {
    const had = store.worktrees.get<{ status: string }>(row.repository, row.id);
    if (had) store.worktrees.update(row, had.status);
    else store.worktrees.insert(row);
  }
  for (const run of runs) restoreRun(store, run);
}

function restoreRun(store: Store, { id, worktreeId, state, doc, journal, blobs, blocks, verdicts }: KeptRun): void {
  const had = store.runs.get(id);
  const last = store.journal.lastOf(id);
  const isWhole = journal !== null && (journal.length > 0 || state === 'waiting');
  if (!had) store.runs.insert({ id, worktreeId, doc, state: isWhole ? state : 'over' });
  else {
    store.runs.setWorktree(id, worktreeId);
    store.runs.move(id, state);
  }
  for (const [address, bytes] of Object.entries(blobs)) store.journal.putBlob(address, Buffer.from(bytes, 'base64'));
  for (const row of journal ?? []) if (row.n > last) store.journal.restore(id, row);
  for (const block of blocks) {
    store.blocks.assign(block);
    store.blocks.setResult(block.jobId, block.result);
  }
  store.verdicts.insert(id, verdicts);
}
