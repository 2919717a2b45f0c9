import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeAtomic } from '../base/atomic-file.ts';
import type { SafeDir } from '../base/safe-dir.ts';
import { agentEventSchema } from '../protocol/events.ts';
import { jobSchema } from '../protocol/jobs.ts';
import { keptWorkSchema } from './kept-work.ts';
import { outboxRowSchema } from './outbox-table.ts';
import { storedQuestionSchema } from './question-table.ts';

const snapshotSchema = z.strictObject({
  version: z.literal(1),
  writtenAt: z.string(),
  lastSeq: z.number().int(),
  active: z.array(jobSchema),
  completed: z.array(jobSchema),
  tails: z.record(z.string(), z.array(agentEventSchema)),
  /** How far each job was read: a lost database is rebuilt from here and the raw files. */
  runtimes: z.record(z.string(), z.unknown()),
  /** Open questions and messages of active jobs, which no raw file has. */
  questions: z.array(storedQuestionSchema),
  outbox: z.array(outboxRowSchema),
  /** Absent in snapshots of an older Reef. */
  work: keptWorkSchema.optional(),
});
export type Snapshot = z.infer<typeof snapshotSchema>;

/** A recovery aid and a view for people. The database is the truth. */
export interface PersistenceHook {
  /** Null when there is none yet. A damaged one throws, and is never taken for an empty list. */
  load(): Promise<Snapshot | null>;
  save(snapshot: Snapshot): Promise<void>;
}

export class SnapshotFile implements PersistenceHook {
  readonly #path: string;
  readonly #copyIn: Pick<SafeDir, 'write'> | undefined;

  /** `copyIn`: a folder in which readers find a copy. It is never read back: a repository could bring one. */
  constructor(path: string, copyIn?: Pick<SafeDir, 'write'>) {
    this.#path = path;
    this.#copyIn = copyIn;
  }

  async load(): Promise<Snapshot | null> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    return text === undefined ? null : snapshotSchema.parse(JSON.parse(text));
  }

  async save(snapshot: Snapshot): Promise<void> {
    await writeAtomic(this.#path, `${JSON.stringify(snapshot)}\n`);
    // Agents can read it: what is on its way to one of them is for no other.
    const { work: _, ...rest } = snapshot;
    const questions = rest.questions.map(({ answer: _, ...question }) => question);
    const forReaders = { ...rest, questions, runtimes: {}, outbox: [] };
    await this.#copyIn?.write('state.json', Buffer.from(`${JSON.stringify(forReaders)}\n`));
  }
}
