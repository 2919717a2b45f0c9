import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { makeWorld, type World } from '../../../../test/e2e/harness.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { eventually } from '../../../../test/support/wait.ts';

const REEF = fileURLToPath(new URL('../../../../bin/reef.cjs', import.meta.url));
const run = promisify(execFile);
// A daemon, and three shells of which each starts Reef at every Tab.
const LIMIT_MS = 180_000;
vi.setConfig({ testTimeout: LIMIT_MS });

let world: World;
let env: NodeJS.ProcessEnv;
let job: string;
const SHELLS = ['bash', 'zsh', 'fish'] as const;
const script = (shell: (typeof SHELLS)[number]) => join(world.root, `reef.${shell}`);
const has = (program: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)));

beforeAll(async () => {
  world = makeWorld();
  // What the scripts call at each Tab.
  const bin = join(world.root, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'reef'), `#!/bin/sh\nexec '${process.execPath}' '${REEF}' "$@"\n`, { mode: 0o755 });
  env = { ...world.env, PATH: `${bin}:${process.env.PATH}`, TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: 'ready> ' };
  const roles = join(world.root, 'config/reef/roles');
  await mkdir(roles, { recursive: true });
  await writeFile(join(roles, 'pirate.md'), 'Speak like one.\n');
  for (const shell of SHELLS) {
    const { stdout } = await run(process.execPath, [REEF, 'completions', shell], { env, cwd: world.repository });
    await writeFile(script(shell), stdout);
  }
}, LIMIT_MS);
afterAll(() => world.close(), LIMIT_MS);

/** What a real bash offers after these words, the last of them half typed. */
async function offered(...words: string[]): Promise<string[]> {
  const asked = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}; COMP_TYPE=9; _reef; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['--norc', '-c', asked, 'bash', script('bash'), 'reef', ...words], {
    env,
    cwd: world.repository,
  });
  return stdout.split('\n').filter(Boolean);
}

/** An agent at work, its task, and a worktree. */
async function work(): Promise<void> {
  if (job !== undefined) return;
  const agent = world.script('busy', [{ say: 'hello' }]);
  const { agentId } = await world.client.call('spawn', { agent, task: 'count the fish: all of them' });
  job = agentId.slice(0, 8);
  await world.until(agentId, ({ endedAt }) => endedAt !== undefined);
  await world.client.call('worktree_create', { title: 'another parser' });
}

test('bash completes commands, sub-commands and options, and knows what is an argument', {
  timeout: LIMIT_MS,
}, async () => {
  expect(await offered('sp')).toEqual(['spawn']);
  expect(await offered('s')).toEqual(['spawn', 'send', 'status', 'state', 'serve']);
  expect(await offered('spawn', '--budget')).toEqual(['--budget-tokens', '--budget-turns', '--budget-time']);
  expect(await offered('send', '01K', '--al')).toEqual(['--allow', '--always']);
  expect(await offered('daemon', 'stop', '--k')).toEqual(['--kill-jobs']);
  expect(await offered('spawn', 'claude', 'stop', '--unsa')).toEqual(['--unsafe']);
  expect(await offered('acc')).toEqual(['accept']);
});

verifies('R-163').test('bash completes values, also behind options and commas', async () => {
  expect(await offered('spawn', 'cod')).toEqual(['codex', 'codex-exec']);
  expect(await offered('spawn', '--keep', '--cwd', '/tmp', 'codex-')).toEqual(['codex-exec']);
  expect(await offered('spawn', 'claude', '--mode', '')).toEqual(['headless', 'headful']);
  expect(await offered('run', 'fix it', '--agent', 'cla')).toEqual(['claude']);
  expect(await offered('run', 'fix it', '--agents', 'claude,codex-')).toEqual(['claude,codex-exec']);
  expect(await offered('run', 'te')).toEqual(['test-fix']);
  expect(await offered('ask', '-r', 'pi')).toEqual(['pirate']);
  expect(await offered('role', 'show', 'pi')).toEqual(['pirate']);
  expect(await offered('output', 'zz')).toEqual([]);
});

/** Types into a real shell, in a terminal. */
async function typing(shell: string[], prepare: string, tries: readonly (readonly [string, RegExp])[]): Promise<void> {
  const socket = join(world.root, `tmux-${shell[0]}`);
  const tmux = async (...args: string[]) => (await run('tmux', ['-S', socket, ...args], { env })).stdout;
  const screen = (text: RegExp) =>
    eventually(
      () => tmux('capture-pane', '-p', '-J'),
      (now) => text.test(now),
      { withinMs: 60_000, what: `${text} is on the screen` },
    );
  await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '120', '-y', '40', '-c', world.repository, shell.join(' '));
  try {
    await tmux('send-keys', `${prepare}; PS1='rea'dy'> '`, 'Enter');
    await screen(/^ready> $/m);
    for (const [typed, completed] of tries) {
      await tmux('send-keys', '-l', typed);
      await tmux('send-keys', 'Tab');
      await screen(completed);
      await tmux('send-keys', 'C-u');
    }
  } finally {
    await tmux('kill-server');
  }
}

verifies('R-163', 'U-01')
  .needs(has('tmux'), 'tmux is not installed')
  .test('a real bash completes agents with a colon, and lists jobs with their tasks', async () => {
    await work();
    const twice = `bind 'set show-all-if-ambiguous on'`;
    await typing(['bash', '--norc', '--noprofile'], `source ${script('bash')}; ${twice}`, [
      ['reef spawn native:code-', /reef spawn native:code-reviewer/],
      [`reef output ${job.slice(0, 6)}`, new RegExp(`reef output ${job}`)],
      ['reef output ', new RegExp(`^${job} +\\(scripted:busy.yaml completed: count the fish: all of them\\)`, 'm')],
      ['reef worktree diff ', /reef worktree diff \w{8}/],
    ]);
  });

verifies('R-163', 'U-01')
  .needs(has('fish'), 'fish is not installed')
  .test('fish completes values with what they are', async () => {
    await work();
    const asked = async (line: string) => {
      const words = `source ${script('fish')}; complete -C '${line}'`;
      const { stdout } = await run('fish', ['--no-config', '-c', words], { env, cwd: world.repository });
      return stdout.split('\n').filter(Boolean);
    };
    expect(await asked('reef spaw')).toEqual(['spawn\tStart a coding agent on a task']);
    expect(await asked('reef spawn codex-')).toEqual(['codex-exec']);
    expect(await asked('reef run full')).toEqual(['full-gates']);
    expect(await asked('reef send ')).toContain(`${job}\tscripted:busy.yaml completed: count the fish: all of them`);
    expect(await asked('reef worktree accept ')).toEqual([expect.stringMatching(/^\w{8}\t\w+: another parser$/)]);
    expect(await asked('reef chat --role pi')).toEqual(['pirate']);
  });

verifies('R-163', 'U-01')
  .needs(has('zsh') && has('tmux'), 'zsh or tmux is not installed')
  .test('zsh completes values with what they are when a person presses Tab', async () => {
    await work();
    await typing(['zsh', '-f'], `autoload -U compinit; compinit -u; source ${script('zsh')}`, [
      ['reef spaw', /reef spawn /],
      ['reef spawn codex-', /reef spawn codex-exec/],
      ['reef spawn native:code-', /reef spawn native:code-reviewer/],
      ['reef run full', /reef run full-gates/],
      ['reef output ', new RegExp(`^${job} +-- scripted:busy.yaml completed: count the fish: all of them`, 'm')],
    ]);
  });
