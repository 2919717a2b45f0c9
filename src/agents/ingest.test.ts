import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ingest, RawOutput } from './ingest.ts';
import type { JobRuntime } from './job-runtime.ts';
import { reefProtocolAdapter } from './reef-protocol/adapter.ts';

const said = (n: number) => JSON.stringify({ type: 'progress', payload: { kind: 'text', text: `line ${n}` } });
const OUT = Array.from({ length: 40 }, (_, n) => said(n)).join('\n');
const ERR = Array.from({ length: 10 }, (_, n) => `warning ${n}`).join('\n');

/** Reads all of it, with time for so many lines at once; each second daemon begins at the stored offset. */
async function readInPieces(storage: TestStorage, id: string, lines: number): Promise<unknown[]> {
  const paths = { out: join(storage.dir, 'out'), err: join(storage.dir, 'err') };
  const runtime = () => storage.store.jobs.get<JobRuntime>(id)?.runtime as JobRuntime;
  storage.addJob(id);
  let raw = new RawOutput(paths, runtime().read);
  for (let round = 0; ; round++) {
    const batch = await raw.next();
    if (batch.out.length + batch.err.length === 0) break;
    let looks = 0;
    const isTimeUp = () => ++looks >= lines;
    const left = storage.change(id, (tx) => ingest(tx, reefProtocolAdapter('scripted:x'), batch, isTimeUp));
    raw.giveBack(left);
    if (round % 2 === 1) continue;
    await raw.close();
    raw = new RawOutput(paths, runtime().read);
  }
  await raw.close();
  const events = [...storage.store.events.allOf(id)];
  return events.map(({ type, payload }) => ({ type, payload: { ...payload, ref: undefined } }));
}

verifies('Q-02', 'Q-114').test(
  'whatever there is time for at once, the events are those of an undisturbed reading, over kills too',
  async () => {
    const storage = new TestStorage(manualClock());
    writeFileSync(join(storage.dir, 'out'), `${OUT}\n`);
    writeFileSync(join(storage.dir, 'err'), `${ERR}\n`);
    const whole = await readInPieces(storage, 'WHOLE', Number.POSITIVE_INFINITY);
    expect(whole).toHaveLength(50);
    for (const lines of [1, 3, 7, 39, 40, 41, 45]) {
      const pieces = await readInPieces(storage, `P${lines}`, lines);
      expect(new Set(pieces.map((each) => JSON.stringify(each))), `${lines} at once`).toEqual(
        new Set(whole.map((each) => JSON.stringify(each))),
      );
      expect(pieces, `${lines} at once`).toHaveLength(50);
    }
    storage.close();
  },
);
