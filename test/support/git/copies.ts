import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sandboxFor } from '../../../src/agents/sandbox.ts';
import { gitApart } from '../../../src/app/git-apart.ts';
import type { Checkout } from '../../../src/git/checkout.ts';
import { PrivateGits } from '../../../src/git/private/private-gits.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { contained } from '../../../src/process/chain.ts';
import type { TestRepository } from '../repository.ts';

export const capabilities = await probeCapabilities();

export type Reopened = Partial<Pick<ConstructorParameters<typeof PrivateGits>[0], 'git' | 'at' | 'maxBytes'>>;

/** Copies of git's data for the worktrees of a repository, and agents that work in them. */
export function openCopies({ root, git, place, env }: Pick<TestRepository, 'root' | 'git' | 'place' | 'env'>) {
  const home = { dir: join(root, 'state'), sockets: join(root, 'sockets') };
  for (const folder of [home.dir, home.sockets]) mkdirSync(folder, { recursive: true });
  const folder = join(home.dir, 'git');
  const apart = gitApart({ home, env: { all: env }, capabilities }, place);
  const open = (options: Reopened = {}) => new PrivateGits({ git, apart, folder, ...options });
  const act = async (gits: PrivateGits, worktree: Checkout, script: string) => {
    const cwd = worktree.toplevel;
    const binds = await gits.lend(worktree);
    const around = { homeDir: home.dir, sockets: home.sockets, env, program: '/bin/sh', git: { binds } };
    const sandbox = await sandboxFor({ id: 'agent', cwd, sandbox: 'bubblewrap' }, around);
    const [file = '', ...args] = contained({ file: '/bin/sh', args: ['-e', '-c', script], cwd, sandbox }, capabilities);
    const { stdout } = await promisify(execFile)(file, args, { cwd, env });
    return stdout.trimEnd();
  };
  return { folder, open, act };
}
