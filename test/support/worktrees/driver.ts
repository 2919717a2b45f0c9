import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { createIds } from '../../../src/base/ids.ts';
import { createLogger } from '../../../src/base/log.ts';
import { createGit } from '../../../src/git/git-command.ts';
import { run } from '../../../src/process/run.ts';
import { Store } from '../../../src/store/store.ts';
import { GitWorktreeManager } from '../../../src/worktrees/manager.ts';

/** Takes tasks through their lives, several at once, and ends itself by SIGKILL at the n-th step between two effects. */
const [root = '', name = '', steps = '1', tasks = '1'] = process.argv.slice(2);
let left = Number(steps);
const store = new Store(join(root, 'reef.db'));
const manager = await GitWorktreeManager.open({
  git: createGit({ run, env: { PATH: process.env.PATH ?? '', HOME: join(root, 'home') }, lockWaitMs: 300 }),
  ...{ store, clock: systemClock, run, repository: join(root, 'repo') },
  ...{ dataHome: join(root, 'data'), stateHome: join(root, 'state') },
  log: createLogger({ write: () => {}, clock: systemClock, redact: (text) => text }),
  newId: createIds(systemClock),
  isPortFree: async () => true,
  freeBytes: async () => 1e12,
  at: () => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
});

async function live(n: number): Promise<void> {
  const taskId = `${name}-${n}`;
  const { id } = await manager.submit({ taskId, plan: [taskId], base: 'main' });
  const { path } = await manager.whenReady(id);
  writeFileSync(join(path ?? '', taskId), `${taskId}\n`);
  if (n % 3 !== 1) await manager.hold(id);
  if (n % 3 !== 1) await manager.reinflate(id);
  if (n % 3 === 2) await manager.discard(id);
  else await manager.accept(id);
}

await Promise.all(Array.from({ length: Number(tasks) }, (_, n) => live(n)));
await manager.close();
store.close();
