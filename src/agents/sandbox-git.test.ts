import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { gitMounts } from './sandbox.ts';

const BRANCH = 'reef/one-12345678';

/** A worktree whose branch git has packed: the folder of its ref is gone. */
function packedWorktree() {
  const { root, checkout, plain } = makeRepository();
  const cwd = join(root, 'one');
  plain('worktree', 'add', '-q', '-b', `${BRANCH}/tip`, cwd);
  plain('pack-refs', '--all');
  return { cwd, folder: join(checkout, '.git', 'refs', 'heads', BRANCH) };
}

verifies('X-24').test(
  'a job in a sandbox may write the folder of its own branch, made where git has packed it',
  async () => {
    const { cwd, folder } = packedWorktree();
    const mounts = await gitMounts({ cwd, worktree: 'W12345678', sandbox: 'bubblewrap' });
    expect([mounts?.writable.includes(folder), existsSync(folder)]).toEqual([true, true]);
  },
);

for (const [what, job] of [
  ['in no sandbox', { sandbox: 'none' }],
  ['that may not write', { sandbox: 'bubblewrap', readonly: true }],
] as const) {
  verifies('X-24').test(`nothing of git is made for a job ${what}`, async () => {
    const { cwd, folder } = packedWorktree();
    expect([await gitMounts({ cwd, worktree: 'W12345678', ...job }), existsSync(folder)]).toEqual([undefined, false]);
  });
}
