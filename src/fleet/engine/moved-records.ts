import type { Json } from '../../protocol/workflow.ts';
import type { EntryData, JournalKind } from '../../workflow/durable/journal.ts';
import type { Database } from '../database/database.ts';

/** What a home does so that its runs can go on elsewhere, and those of others here. */
export interface Moving {
  /** The folder of all worktrees here. */
  folder(): string;
  /** The worktree of a run here, and that of a branch by the step that made it. */
  worktreeOf(run: string): string | undefined;
  branchOf(run: string): string | undefined;
  worktreeOfStep(effectKey: string): string | undefined;
  /** Before a run is walked here. */
  begin(run: string): Promise<void>;
  blob(address: string): Uint8Array | undefined;
  keepBlob(address: string, bytes: Uint8Array): void;
}

export interface Recorded {
  kind: JournalKind;
  key: string;
  data: EntryData;
}

/** Of the main branch: whose own worktree goes on elsewhere. */
export function lastCheckpoint(entries: readonly Recorded[]): string | undefined {
  const made = entries.flatMap(({ kind, key, data }) => {
    const { checkpoint } = (data.value ?? {}) as { checkpoint?: unknown };
    return kind === 'step' && key.startsWith('main/') && typeof checkpoint === 'string' ? [checkpoint] : [];
  });
  return made.at(-1);
}

/** A branch began and is not over, or what the last ones did is not joined. */
export function isInFork(entries: readonly Recorded[], branches: readonly string[]): boolean {
  const over = new Set(entries.flatMap(({ kind, key }) => (kind === 'child' ? [key] : [])));
  if (branches.some((branch) => !over.has(branch))) return true;
  const isJoin = ({ kind, key }: Recorded) => kind === 'step' && /\/join(-\d+)?$/.test(key);
  const isOfBranch = ({ kind, data }: Recorded) =>
    kind === 'child' || (kind === 'step' && isWorktree((data.value as { ok?: unknown } | null | undefined)?.ok));
  return entries.findLastIndex(isOfBranch) > entries.findLastIndex(isJoin);
}

interface Worktree {
  id: string;
  path: string;
}

const isWorktree = (value: unknown): value is Worktree =>
  typeof value === 'object' && value !== null && 'id' in value && 'path' in value && typeof value.id === 'string';

/** The worktrees that the records name, and what takes their place here. */
export function namesOf(
  moving: Pick<Moving, 'worktreeOf' | 'worktreeOfStep'>,
  { runId, input, entries }: { runId: string; input: Json; entries: readonly Recorded[] },
): [recorded: string, here: string][] {
  const { worktree } = (input ?? {}) as { worktree?: unknown };
  const main = isWorktree(worktree) ? [[worktree.id, moving.worktreeOf(runId)] as const] : [];
  const branches = entries.flatMap(({ kind, key, data }) => {
    const { ok } = (data.value ?? {}) as { ok?: unknown };
    return kind === 'step' && isWorktree(ok) ? [[ok.id, moving.worktreeOfStep(`${runId}/${key}`)] as const] : [];
  });
  return [...main, ...branches].flatMap(([recorded, here]) => (here === undefined ? [] : [[recorded, here]]));
}

const BLOB = /"blob":\{"address":"([0-9a-f]{64})"/g;

function addressesIn(value: unknown): string[] {
  return [...new Set([...JSON.stringify(value).matchAll(BLOB)].map(([, address = '']) => address))];
}

/** Large content of what is about to be recorded. */
export async function keepBlobs(
  database: Database,
  moving: Pick<Moving, 'blob'>,
  { runId, data }: { runId: string; data: EntryData },
): Promise<void> {
  for (const address of addressesIn(data)) {
    const bytes = moving.blob(address);
    const insert = 'INSERT INTO reef.blob (run, address, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING';
    if (bytes) await database.query(insert, [runId, address, bytes]);
  }
}

/** What of it is not here yet. */
export async function bringBlobs(
  database: Database,
  moving: Pick<Moving, 'blob' | 'keepBlob'>,
  { runId, entries }: { runId: string; entries: readonly Recorded[] },
): Promise<void> {
  for (const address of addressesIn(entries)) {
    if (moving.blob(address)) continue;
    const sql = 'SELECT bytes FROM reef.blob WHERE run = $1 AND address = $2';
    const [row] = await database.query<{ bytes: Buffer }>(sql, [runId, address]);
    if (row) moving.keepBlob(address, row.bytes);
  }
}
