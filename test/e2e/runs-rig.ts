import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OperationInput, OperationOutput } from '../../src/protocol/operations.ts';
import type { RunSummary } from '../../src/protocol/run-operations.ts';
import type { RunView } from '../../src/protocol/workflow.ts';
import { plainGit, writeFiles } from '../support/repository.ts';
import { eventually } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';

/** What the tests of runs and worktrees share: a project with a failing test, the command line, and scripted agents. */

const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));

export interface Spoken {
  code: number;
  out: string;
  err: string;
}

export type Steps = Record<string, unknown>[];
export type Seen = OperationOutput<'run_status'>;

/** One test that wants `sum` to add; the code is missing. */
export const PROJECT = {
  'package.json': '{"type":"module","scripts":{"test":"node --test --test-isolation=none"}}\n',
  'sum.test.mjs': [
    "import { equal } from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { sum } from './sum.mjs';",
    "test('two and three make five', () => equal(sum(2, 3), 5));\n",
  ].join('\n'),
};

export const ADDS = 'export const sum = (a, b) => a + b;\n';
export const SUBTRACTS = 'export const sum = (a, b) => a - b;\n';
export const done = (text: string, signal = 'SUCCESS') => ({ say: `${text}\nSIGNAL:${signal}` });
export const writes = (path: string, content: string) => ({ edit: { path, content } });

/** One script for all blocks of a workflow: each plays what stands under its name, all others are content. */
export function byBlock(blocks: Record<string, Steps>): Steps {
  const chosen = Object.entries(blocks).map(([block, steps]) => ({ when: `${block}, visit`, steps }));
  return [{ choose: [...chosen, { steps: [done('Nothing to do.')] }] }];
}

export const WRITES_IT_WRONG = [writes('sum.mjs', SUBTRACTS), done('Written.')];
export const WRITES_IT_RIGHT = [writes('sum.mjs', ADDS), done('Written.')];

/** One agent, one gate, and a person when it fails; whoever resumes sends the agent back to work. */
export const QUICK = `
start: Quick
nodes:
  Quick:
    entry_block: Quick__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: JUMP:Quick__Test }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      Test:
        worker: Internal:TestRunner
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:RESUMED, action: JUMP:Quick__Write }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
`;

export class RunsRig {
  readonly world: World;

  constructor(files: Record<string, string> = PROJECT, parent?: string) {
    this.world = makeWorld(parent);
    this.world.configure({ timings: { linger: 0 } });
    this.git('config', 'user.name', 'The User');
    this.git('config', 'user.email', 'user@example.invalid');
    this.commit(files, 'project');
  }

  git(...args: string[]): string {
    return plainGit(this.world.repository, this.world.env)(...args);
  }

  /** Files of the user's checkout. */
  write(files: Record<string, string>): void {
    writeFiles(this.world.repository, files);
  }

  commit(files: Record<string, string>, message: string): void {
    this.write(files);
    this.git('add', '--', ...Object.keys(files));
    this.git('commit', '-qm', message);
  }

  /** What a person types. */
  reef(...args: string[]): Promise<Spoken> {
    return this.reefIn(this.world.repository, ...args);
  }

  /** The same in another folder. */
  reefIn(cwd: string, ...args: string[]): Promise<Spoken> {
    const { env } = this.world;
    return new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [REEF, ...args],
        { cwd, env, maxBuffer: 64 * 1_048_576 },
        (error, out, err) => {
          resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
        },
      );
      child.stdin?.end(); // nobody types, and nothing is piped in
    });
  }

  async json(...args: string[]) {
    const { out, err } = await this.reef(...args, '--json');
    if (out === '') throw new Error(`reef ${args.join(' ')} said nothing: ${err}`);
    return JSON.parse(out);
  }

  async trust(): Promise<void> {
    const { items } = await this.world.client.call('trust', {});
    await this.world.client.call('trust', { hashes: items.map(({ hash }) => hash) });
  }

  /** Started and not waited for. */
  start(input: OperationInput<'run'>): Promise<RunSummary> {
    return this.world.client.call('run', input);
  }

  look(id: string): Promise<Seen> {
    return this.world.client.call('run_status', { id });
  }

  async summaryWhen(id: string, isMet: (run: RunSummary, view: RunView | null) => boolean): Promise<RunSummary> {
    const isShown = ({ runs: [run], view }: Seen) => run !== undefined && isMet(run, view);
    const { runs } = await eventually(() => this.look(id), isShown, { everyMs: 50 });
    return runs[0] as RunSummary;
  }

  async until(id: string, isMet: (run: RunSummary, view: RunView | null) => boolean): Promise<Shown> {
    const run = await this.summaryWhen(id, (each, view) => view !== null && isMet(each, view));
    const { view } = await this.look(id);
    if (!view) throw new Error('the run has not begun');
    return { run, view };
  }

  /** Over, or in need of a person. */
  settled(id: string): Promise<Shown> {
    return this.until(id, ({ status }) => status !== 'queued' && status !== 'running');
  }

  /** Aborted runs keep their worktrees. */
  async clear(): Promise<void> {
    const { worktrees } = await this.world.client.call('worktrees', {});
    const left = worktrees.filter(({ status }) => status !== 'accepted');
    for (const { id } of left) await this.world.client.call('worktree_discard', { id });
  }

  close(): Promise<void> {
    return this.world.close();
  }
}

export interface Shown {
  run: RunSummary;
  view: RunView;
}

/** `block#visit signal` of every visit that ended, in order. */
export function visitsOf({ executionLog }: RunView): string[] {
  return Object.values(executionLog)
    .filter(({ endedAt }) => endedAt !== undefined)
    .map(
      ({ block, visit, signal }) => `${block.replace(/^.*__/, '')}#${visit} ${signal?.replace('SIGNAL:', '') ?? ''}`,
    );
}

/** Every byte of the user's checkout, with modes and links, its index and HEAD; `.git` and `.reef` are not the user's files. */
export function usersOwn(rig: RunsRig): Record<string, string> {
  const { repository } = rig.world;
  const seen: Record<string, string> = {
    '(HEAD)': rig.git('symbolic-ref', 'HEAD'),
    '(index)': rig.git('ls-files', '--stage'),
    '(stash)': rig.git('stash', 'list'),
  };
  const visit = (folder: string): void => {
    for (const name of readdirSync(join(repository, folder)).sort()) {
      const path = join(folder, name);
      if (path === '.git' || path === '.reef') continue;
      const full = join(repository, path);
      const stat = lstatSync(full);
      if (stat.isDirectory()) visit(path);
      else if (stat.isSymbolicLink()) seen[path] = `-> ${readlinkSync(full)}`;
      else
        seen[path] =
          `${(stat.mode & 0o777).toString(8)} ${createHash('sha256').update(readFileSync(full)).digest('hex')}`;
    }
  };
  visit('');
  return seen;
}

/** Edits, a staged one, a deletion, untracked and ignored files: work of the user's that nothing may touch. */
export function makeDirty(rig: RunsRig): void {
  rig.write({
    'notes.txt': 'half a thought, unstaged\n',
    'staged.txt': 'staged\n',
    'new/untracked.bin': '\u0000\u0001\r\n',
  });
  rig.git('add', 'staged.txt');
  rig.write({ 'staged.txt': 'staged, then edited\n', '.env': 'TOKEN=mine\n' });
  chmodSync(join(rig.world.repository, 'new/untracked.bin'), 0o755);
}

/** What Reef left in the repository beside archives and captures people can restore: branches and registrations. */
export function leftovers(rig: RunsRig): string[] {
  const branches = rig.git('for-each-ref', '--format=%(refname)', 'refs/heads/reef', 'refs/reef/accepted').split('\n');
  const registered = rig.git('worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? [];
  return [...branches.filter((ref) => ref !== ''), ...registered.slice(1)];
}
