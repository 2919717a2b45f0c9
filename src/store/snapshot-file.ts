import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
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

/** With a turn of the event loop after so many characters: the tails of a hundred jobs are megabytes. */
const CHARACTERS_AT_ONCE = 131_072;

async function jsonOfFields(fields: object): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) texts.set(name, await jsonInTurns(value));
  }
  return texts;
}

async function jsonInTurns(value: unknown): Promise<string> {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const parts: string[] = [];
  let written = 0;
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const text = JSON.stringify(child);
    parts.push(Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`);
    written += text.length;
    if (written < CHARACTERS_AT_ONCE) continue;
    written = 0;
    await setImmediate();
  }
  return Array.isArray(value) ? `[${parts.join(',')}]` : `{${parts.join(',')}}`;
}

function textOf(fields: Map<string, string>): string {
  return `{${[...fields].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}\n`;
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
    const whole = await jsonOfFields(snapshot);
    await writeAtomic(this.#path, textOf(whole));
    // Agents can read it: what is on its way to one of them is for no other.
    const questions = snapshot.questions.map(({ answer: _, ...question }) => question);
    const forReaders = new Map([...whole, ...(await jsonOfFields({ questions, runtimes: {}, outbox: [] }))]);
    forReaders.delete('work');
    await this.#copyIn?.write('state.json', Buffer.from(textOf(forReaders)));
  }
}
