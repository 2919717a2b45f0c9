import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { run } from '../../src/process/run.ts';
import { Store } from '../../src/store/store.ts';
import type { DurableEngine } from '../../src/workflow/durable/durable-engine.ts';
import { EmbeddedEngine } from '../../src/workflow/durable/embedded-engine.ts';
import { openFleetEngine } from '../../test/support/fleet/engine.ts';
import { fleetDatabase } from '../../test/support/fleet/fleet-database.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';
import { eventually } from '../../test/support/wait.ts';
import { median, printRows } from '../measure.ts';

const BLOCKS = 60;
const ANSWERS = 20;
const PROGRAM = { file: process.execPath, args: ['--version'], cwd: '/', env: {}, timeoutMs: 10_000 };

interface Figures {
  /** Of a step that does nothing. */
  bare: number;
  /** Of one that starts a program, as each block does. */
  block: number;
  answer: number;
}

/** The same body on both engines, one after the other: what does it cost that the record is elsewhere? */
export async function benchEngines(): Promise<boolean> {
  await using server = await startPostgres({ isSynced: true });
  const fleet = await openFleetEngine(await fleetDatabase(server));
  const ours = await figures(fleet.engine);
  await fleet.close();
  using folder = disposableFolder('/var/tmp');
  const store = new Store(join(folder.path, 'db'));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const embedded = new EmbeddedEngine({ store, clock: systemClock, log });
  const theirs = await figures(embedded);
  await embedded.close();
  store.close();
  return printRows('a fleet · one machine', [
    { what: 'a block that starts a program', ours: ours.block, theirs: theirs.block, unit: 'ms', target: { most: 4 } },
    {
      what: 'an answer, until the program of the next block ran',
      ours: ours.answer,
      theirs: theirs.answer,
      unit: 'ms',
      target: { most: 4 },
    },
    { what: 'a step that does nothing', ours: ours.bare, theirs: theirs.bare, unit: 'ms' },
  ]);
}

async function figures(engine: DurableEngine): Promise<Figures> {
  const answers: number[] = [];
  let said = 0;
  engine.define('bare', async (d) => {
    for (let n = 0; n < BLOCKS; n++) await d.step(`${n}`, null, async () => null);
    return null;
  });
  engine.define('block', async (d) => {
    for (let n = 0; n < BLOCKS; n++) {
      await d.step(`${n}`, null, async () => (await run(PROGRAM)).code);
    }
    return null;
  });
  let waiting = -1;
  engine.define('asks', async (d) => {
    for (let n = 0; n < ANSWERS; n++) {
      waiting = n;
      await d.waitFor(`q${n}`, 'go on?');
      await d.step(`s${n}`, null, async () => {
        await run(PROGRAM);
        return answers.push(performance.now() - said);
      });
    }
    return null;
  });
  const timeOf = async (name: string) => {
    const begun = performance.now();
    await engine.start(name, name, null);
    await engine.result(name);
    return (performance.now() - begun) / BLOCKS;
  };
  await timeOf('bare');
  const bare = await again(engine, 'bare');
  const block = await timeOf('block');
  await engine.start('asks', 'asks', null);
  for (let n = 0; n < ANSWERS; n++) {
    await eventually(
      () => waiting,
      (at) => at === n,
      { everyMs: 1 },
    );
    await systemClock.sleep(100); // it waits by now, as it does for a person
    said = performance.now();
    await engine.answer('asks', `q${n}`, `a${n}`, null);
  }
  await engine.result('asks');
  return { bare, block, answer: median(answers) };
}

/** Warm: what is loaded and prepared once is not part of it. */
async function again(engine: DurableEngine, name: string): Promise<number> {
  const begun = performance.now();
  await engine.start(name, `${name}-again`, null);
  await engine.result(`${name}-again`);
  return (performance.now() - begun) / BLOCKS;
}
