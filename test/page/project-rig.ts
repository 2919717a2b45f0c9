import { plainGit, writeFiles } from '../support/repository.ts';
import type { PageRig } from './page-rig.ts';

/** What the tests of worktrees and new tasks share: a project with one gate, and scripted agents at work on it. */

export const ADDS = 'export const sum = (a, b) => a + b;\n';
export const SUBTRACTS = 'export const sum = (a, b) => a - b;\n';
const PROJECT = {
  'package.json': '{"type":"module","scripts":{"test":"node check.mjs"}}\n',
  'check.mjs': [
    "import { existsSync } from 'node:fs';",
    "const { sum } = existsSync('sum.mjs') ? await import('./sum.mjs') : { sum: () => 5 };",
    "if (sum(2, 3) !== 5) throw new Error('not five');\n",
  ].join('\n'),
  'rate.mjs': 'export const rate = () => 0.2;\n',
  'tax.mjs': "import { rate } from './rate.mjs';\nexport const tax = (net) => net * rate();\n",
  'notes.txt': 'one\ntwo\nthree\n',
};

export type ProjectRig = PageRig & { git: ReturnType<typeof plainGit> };

/** A person has trusted what it runs. */
export async function makeProject(all: PageRig): Promise<ProjectRig> {
  const { repository, env, client } = all.world;
  const git = plainGit(repository, env);
  git('config', 'user.name', 'The User');
  git('config', 'user.email', 'user@example.invalid');
  writeFiles(repository, PROJECT);
  git('add', '-A');
  git('commit', '-qm', 'project');
  const { items } = await client.call('trust', {});
  await client.call('trust', { hashes: items.map(({ hash }) => hash) });
  return { ...all, git };
}

export interface Worked {
  id: string;
  worktree: string;
  /** Of its folder. */
  path: string;
}

/** A scripted agent in a worktree that is called like it. */
export async function begun({ world }: PageRig, name: string, script: unknown, plan: string[] = []): Promise<Worked> {
  const agent = world.script(name, script);
  const order = { agent, task: `Write ${name}`, worktree: name, plan, keep: true, sandbox: false };
  const { agentId: id, worktree = '' } = await world.client.call('spawn', order);
  await world.until(id, ({ status }) => status !== 'queued');
  const { worktrees } = await world.client.call('worktrees', {});
  return { id, worktree, path: worktrees.find((each) => each.id === worktree)?.path ?? '' };
}

/** The same, and it has done its first turn. */
export async function worked(all: PageRig, name: string, script: unknown): Promise<Worked> {
  const made = await begun(all, name, script);
  await all.world.until(made.id, ({ activity, turns }) => activity === 'idle' && turns >= 1);
  return made;
}

export const writes = (path: string, content: string) => [{ edit: { path, content } }, { say: 'Written.' }];
