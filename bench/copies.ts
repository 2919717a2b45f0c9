import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxFor } from '../src/agents/sandbox.ts';
import { capture } from '../src/git/capture.ts';
import type { Checkout } from '../src/git/checkout.ts';
import { createGit, type Git } from '../src/git/git-command.ts';
import { contained } from '../src/process/chain.ts';
import { run } from '../src/process/run.ts';
import { addWorktree } from '../test/support/git/add-worktree.ts';
import { capabilities, openCopies } from '../test/support/git/copies.ts';
import { initRepository, plainGit, writeFiles } from '../test/support/repository.ts';
import { disposableFolder } from '../test/support/temporary-folder.ts';
import { median, printRows, timed } from './measure.ts';

const ROUNDS = 20;
const FILES = 2_000;
const IDS = ['01KXBENCHC0PY0000000000001', '01KXBENCHC0PY0000000000002'] as const;

/** A commit of an agent: in the worktree itself, or in its copy of git's data, from where a capture brings it over. */
export async function benchCopies(): Promise<boolean> {
  if (capabilities.bubblewrap === undefined) return printRows('Copies of git need bubblewrap, which is not here', []);
  using folder = disposableFolder('/var/tmp');
  const world = await makeWorld(folder.path);
  const { own, copied, gits, git } = world;
  const [plain, brought, still, settled]: number[][] = [[], [], [], []];
  const [open, closed]: number[][] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    edit(own, round);
    plainGit(own.toplevel, world.env)('commit', '-qam', 'x');
    plain?.push(await timed(() => look(git, own, 'own')));
    edit(copied, round);
    await world.act(gits, copied, 'git commit -qam x');
    brought?.push(await timed(() => gits.settle(copied).then(() => look(git, copied, 'copied'))));
    settled?.push(await timed(() => gits.settle(copied)));
    still?.push(await timed(() => look(git, copied, 'copied')));
    closed?.push(await timed(() => start(world, own)));
    open?.push(await timed(() => world.act(gits, copied, 'true')));
  }
  const row = (what: string, ours: number[] = [], theirs: number[] = []) => ({
    ...{ what, ours: median(ours), theirs: median(theirs), unit: 'ms' },
  });
  return printRows(`A commit in a copy of git's data, ${FILES} files`, [
    row('capture after a commit: in a copy · in the worktree', brought, plain),
    row('a look that finds nothing new · a capture', settled, still),
    row('start of a sandbox: with a copy · with git closed', open, closed),
  ]);
}

async function makeWorld(root: string) {
  const checkout = join(root, 'repo');
  const home = join(root, 'home');
  const settings = '[user]\n\tname = A User\n\temail = user@example.invalid\n[gc]\n\tauto = 0\n';
  writeFiles(home, { '.gitconfig': settings });
  const env = { PATH: process.env.PATH ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  const files = Array.from({ length: FILES }, (_, n) => [`d${n % 50}/f${n}.txt`, `${n}\n`.repeat(20)]);
  const plain = initRepository(checkout, Object.fromEntries(files), plainGit(checkout, env));
  const git = createGit({ run, env });
  const place = await git.locate(checkout);
  mkdirSync(join(root, 'worktrees'));
  const [own, copied] = await Promise.all(
    IDS.map((id) => add(git, place, { id, root, commit: plain('rev-parse', 'HEAD') })),
  );
  if (!own || !copied) throw new Error('no worktrees');
  const { open, act } = openCopies({ root, git, place, env });
  return { root, env, git, own, copied, gits: open(), act };
}

function add(git: Git, place: Checkout, { id, root, commit }: { id: string; root: string; commit: string }) {
  const branch = `reef/bench-${id.slice(-8).toLowerCase()}/tip`;
  return addWorktree(git, place, { path: join(root, 'worktrees', id), branch, commit, reason: 'bench' });
}

function edit({ toplevel }: Checkout, round: number): void {
  writeFiles(toplevel, { 'd1/f1.txt': `${toplevel} ${round}\n` });
}

function look(git: Git, checkout: Checkout, name: string) {
  return capture(git, checkout, { ref: `refs/reef/bench/${name}`, message: 'look', at: new Date() });
}

/** A sandbox in which git is read-only. */
async function start({ root, env }: { root: string; env: Record<string, string> }, { toplevel: cwd }: Checkout) {
  const around = { homeDir: join(root, 'state'), sockets: join(root, 'sockets'), env, program: '/bin/sh' };
  const sandbox = await sandboxFor({ id: 'bench', cwd, sandbox: 'bubblewrap' }, around);
  const [file = '', ...args] = contained({ file: '/bin/sh', args: ['-c', 'true'], cwd, sandbox }, capabilities);
  execFileSync(file, args, { cwd, env });
}
