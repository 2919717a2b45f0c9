import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { makeWorld } from '../test/e2e/harness.ts';
import { median, printRows, timed } from './measure.ts';

const REEF = join(import.meta.dirname, '../bin/reef.cjs');
const ROUNDS = 15;

/** U-05: what a person waits for before a command does anything. */
export async function benchStart(): Promise<boolean> {
  const world = makeWorld('reef-bench-');
  try {
    await world.client.call('status', {});
    const start = (...args: string[]) =>
      timed(() => execFileSync(process.execPath, args, { cwd: world.repository, env: world.env, stdio: 'pipe' }));
    const commands = { empty: ['-e', '0'], version: [REEF, '--version'], status: [REEF, 'status', '--json'] };
    const times = { empty: [] as number[], version: [] as number[], status: [] as number[] };
    for (const args of Object.values(commands)) await start(...args); // the compile cache is filled once per version
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, args] of Object.entries(commands)) times[name as keyof typeof times].push(await start(...args));
    }
    const empty = median(times.empty);
    return printRows('Start of the command line, against an empty node', [
      { what: 'reef --version', ours: median(times.version), theirs: empty, unit: 'ms', target: { most: 2 } },
      {
        what: 'reef status, daemon running',
        ours: median(times.status),
        theirs: empty,
        unit: 'ms',
        target: { most: 3 },
      },
    ]);
  } finally {
    await world.close();
  }
}
