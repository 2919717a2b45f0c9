import { createHash } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { ReefError } from '../../protocol/errors.ts';
import { openSqlite, type Sqlite } from '../../store/driver.ts';

const FIRST = 20_000;
const PER_WORKTREE = 10;
/** Up to 31999: Linux takes ports above it for outgoing connections. */
const SLOTS = 1_200;

interface PortBookOptions {
  /** One file per user, shared by all homes: its transactions are the lock. */
  path: string;
  isFree(port: number): Promise<boolean>;
}

/** Who has which ten ports. A block is entered before it is tested, so no two test the same one. */
export class PortBook {
  readonly #database: Sqlite;
  readonly #isFree: PortBookOptions['isFree'];

  constructor({ path, isFree }: PortBookOptions) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#database = openSqlite(path);
    this.#database.pragma('journal_mode = WAL');
    this.#database.exec(
      'CREATE TABLE IF NOT EXISTS block (slot INTEGER PRIMARY KEY, owner TEXT NOT NULL UNIQUE, folder TEXT NOT NULL)',
    );
    this.#isFree = isFree;
  }

  /** The same owner gets the same block, also after a restart. A block is free once its `folder` is gone. */
  async reserve(owner: string, folder: string): Promise<number> {
    const first = createHash('sha256').update(owner).digest().readUInt32BE() % SLOTS;
    for (let skip = 0; ; ) {
      const offset = this.#enter({ owner, folder, first, skip });
      const base = FIRST + ((first + offset) % SLOTS) * PER_WORKTREE;
      const ports = Array.from({ length: PER_WORKTREE }, (_, index) => base + index);
      const free = await Promise.all(ports.map((port) => this.#isFree(port)));
      if (free.every(Boolean)) return base;
      this.release(owner);
      skip = offset + 1;
    }
  }

  /** The owner's block, untested: its own programs may listen there. */
  held(owner: string): number | undefined {
    const row = this.#database.prepare('SELECT slot FROM block WHERE owner = ?').get(owner);
    return row === undefined ? undefined : FIRST + (row as { slot: number }).slot * PER_WORKTREE;
  }

  release(owner: string): void {
    this.#database.prepare('DELETE FROM block WHERE owner = ?').run(owner);
  }

  close(): void {
    this.#database.close();
  }

  /** Enters the next free slot and returns its distance from the first. Blocks of missing folders are free. */
  #enter({ owner, folder, first, skip }: { owner: string; folder: string; first: number; skip: number }): number {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const rows = this.#database.prepare('SELECT slot, owner, folder FROM block').all() as Block[];
      const gone = rows.filter((row) => !existsSync(row.folder));
      for (const { owner: nobody } of gone) this.release(nobody);
      const kept = rows.filter((row) => !gone.includes(row));
      const own = kept.find((row) => row.owner === owner);
      const offset = own ? (own.slot - first + SLOTS) % SLOTS : freeOffset(kept, first, skip);
      if (offset === undefined) throw new ReefError('ports_exhausted', 'No block of ten ports is free.');
      this.#database
        .prepare('INSERT INTO block (slot, owner, folder) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
        .run((first + offset) % SLOTS, owner, folder);
      this.#database.exec('COMMIT');
      return offset;
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}

interface Block {
  slot: number;
  owner: string;
  folder: string;
}

function freeOffset(taken: readonly Block[], first: number, skip: number): number | undefined {
  const slots = new Set(taken.map(({ slot }) => slot));
  for (let offset = skip; offset < SLOTS; offset++) if (!slots.has((first + offset) % SLOTS)) return offset;
  return undefined;
}
