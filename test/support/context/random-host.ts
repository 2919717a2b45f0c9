/** A process that stands for the daemon in the tests: it owns servers that live at random, says `done`, and waits to be killed. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { ownServer } from '../../../src/context/manager/server-command.ts';
import { R_Mcp_ServerManager } from '../../../src/context/manager/server-manager.ts';
import { launchBound } from '../../../src/process/bound.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { fakeServer } from './fake-command.ts';
import { liveRandomly, randomFrom } from './random-life.ts';

export interface HostOrder {
  /** Holds the worktrees, and the store of the real server. */
  dir: string;
  worktrees: string[];
  server: 'fake' | 'own';
  path: string;
  seed: number;
  sequences: number;
  steps: number;
}

const order = JSON.parse(process.argv[2] ?? '{}') as HostOrder;
const { dir, worktrees } = order;
const capabilities = await probeCapabilities();
const store = join(dir, 'index');
mkdirSync(store, { recursive: true });
const own = ownServer({ storeOf: () => join(store, 'code.db'), env: { PATH: order.path, HOME: dir } });

const manager = new R_Mcp_ServerManager({
  server: order.server === 'own' ? own : fakeServer(() => ({})),
  launch: (spec) => launchBound(spec, capabilities),
  clock: systemClock,
  log: { warn: () => {} },
  maxServers: 5,
  timings: { restarts: [5, 10, 20], deathWindow: 300, busy: 2_000, look: 200, inactive: 400 },
});
const ask = { name: 'find_symbols', arguments: { query: 'name' } };
const random = randomFrom(order.seed);
for (let sequence = 0; sequence < order.sequences; sequence += 1) {
  const wrong = await liveRandomly({ manager, worktrees, random, ask }, order.steps);
  if (wrong.length > 0) process.stdout.write(`wrong ${JSON.stringify(wrong)}\n`);
}
// At the end some run and one is only starting. All are active: silence must not end them before they are looked at.
manager.follow({
  onChange(listener) {
    for (const worktreePath of worktrees.slice(0, 5)) listener({ worktreePath, active: true, removed: false });
    return () => {};
  },
});
await Promise.all(worktrees.slice(0, 4).map((path) => manager.ensureServer(path).catch(() => {})));
process.stdout.write(`done ${manager.running().length}\n`);
setInterval(() => {}, 60_000);
