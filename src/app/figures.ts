import { stat } from 'node:fs/promises';
import type { Home } from '../base/home.ts';
import type { Store } from '../store/store.ts';
import { bytesIn } from './home-retention.ts';

/** How much there is of everything in a home, for whoever draws it over time. */
export interface Figures {
  /** Of all that were ever begun; a status that no job has is absent. */
  jobs: Readonly<Record<string, number>>;
  runs: { waiting: number; working: number; asking: number; over: number };
  events: number;
  questions: { open: number; oldestAskedAt?: string };
  gates: readonly { gate: string; result: string; count: number }[];
  databaseBytes: number;
  homeBytes: number;
}

const MEASURED_FOR_MS = 60_000;

/** The folders of a home may hold many thousands of files: they are measured once a minute at most. */
export function openFigures(store: Store, { dir, database }: Pick<Home, 'dir' | 'database'>) {
  let measured: { at: number; bytes: Promise<number> } | undefined;
  const homeBytes = () => {
    const now = performance.now();
    if (!measured || now - measured.at > MEASURED_FOR_MS) measured = { at: now, bytes: bytesIn(dir) };
    return measured.bytes;
  };
  return async (): Promise<Figures> => {
    const questions = store.questions.open();
    const oldestAskedAt = questions[0]?.askedAt;
    const asking = store.journal.waitingForPerson();
    const open = store.runs.open();
    const waiting = open.filter(({ state }) => state === 'waiting').length;
    const asked = open.filter(({ id, state }) => state !== 'waiting' && asking.has(id)).length;
    return {
      jobs: store.jobs.counts(),
      runs: { waiting, asking: asked, working: open.length - waiting - asked, over: store.runs.overCount() },
      events: store.events.lastSeq(),
      questions: { open: questions.length, ...(oldestAskedAt !== undefined && { oldestAskedAt }) },
      gates: store.verdicts.counts(),
      // What is not yet in the database itself lies in its log.
      databaseBytes: (await sizeOf(database)) + (await sizeOf(`${database}-wal`)),
      homeBytes: await homeBytes(),
    };
  };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}
