import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { eventually } from '../../../../test/support/wait.ts';

const REEF = fileURLToPath(new URL('../../../../bin/reef.cjs', import.meta.url));
const run = promisify(execFile);

const dir = temporaryFolder();
const has = (program: string) =>
  (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, program)));
const shellEnv = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, PATH: `${join(dir, 'bin')}:${process.env.PATH}` };
beforeAll(async () => {
  // What the scripts call for the words that change.
  await mkdir(join(dir, 'bin'));
  await writeFile(join(dir, 'bin', 'reef'), `#!/bin/sh\nexec '${process.execPath}' '${REEF}' "$@"\n`, { mode: 0o755 });
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await run(process.execPath, [REEF, 'completions', shell]);
    await writeFile(join(dir, `reef.${shell}`), stdout);
  }
});

/** What a real bash offers after these words, the last of them half typed. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reef; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['--norc', '-c', script, 'bash', join(dir, 'reef.bash'), 'reef', ...words], {
    env: shellEnv,
    cwd: dir,
  });
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, sub-commands and options', async () => {
  expect(await offered('sp')).toEqual(['spawn']);
  expect(await offered('s')).toEqual(['spawn', 'send', 'status', 'state', 'serve']);
  expect(await offered('spawn', '--budget')).toEqual(['--budget-tokens', '--budget-turns', '--budget-time']);
  expect(await offered('send', '01K', '--al')).toEqual(['--allow', '--always']);
  expect(await offered('daemon', '')).toEqual(expect.arrayContaining(['status', 'stop']));
  expect(await offered('daemon', 'stop', '--k')).toEqual(['--kill-jobs']);
  expect(await offered('kill', '--')).toEqual(expect.arrayContaining(['--all', '--json']));
});

test('a word that only looks like a command of another changes nothing', async () => {
  expect(await offered('spawn', 'claude', 'stop', '--unsa')).toEqual(['--unsafe']);
});

test('bash completes agents, workflows and where no daemon runs no ids', async () => {
  expect(await offered('spawn', 'cod')).toEqual(['codex', 'codex-exec']);
  expect(await offered('run', 'fix it', '--agent', 'cla')).toEqual(['claude']);
  expect(await offered('run', 'te')).toEqual(['test-fix']);
  expect(await offered('output', '01')).toEqual([]);
});

verifies('U-01')
  .needs(has('fish'), 'fish is not installed')
  .test(
    'fish completes commands, agents and workflows',
    async () => {
      const asked = async (line: string) => {
        const script = `source ${join(dir, 'reef.fish')}; complete -C '${line}'`;
        const { stdout } = await run('fish', ['--no-config', '-c', script], { env: shellEnv, cwd: dir });
        return stdout.split('\n').flatMap((each) => each.split('\t')[0] || []);
      };
      expect(await asked('reef spaw')).toEqual(['spawn']);
      expect(await asked('reef spawn codex-')).toEqual(['codex-exec']);
      expect(await asked('reef run full')).toEqual(['full-gates']);
      expect(await asked('reef daemon stop --k')).toEqual(['--kill-jobs']);
    },
    60_000,
  );

verifies('U-01')
  .needs(has('zsh') && has('tmux'), 'zsh or tmux is not installed')
  .test(
    'zsh completes commands, agents and workflows when a person presses Tab',
    async () => {
      const tmux = async (...args: string[]) =>
        (await run('tmux', ['-S', join(dir, 'tmux'), ...args], { env: shellEnv })).stdout;
      const screen = (text: string) =>
        eventually(
          () => tmux('capture-pane', '-p'),
          (now) => now.includes(text),
          { withinMs: 30_000 },
        );
      await tmux('-f', '/dev/null', 'new-session', '-d', '-c', dir, 'zsh -f');
      try {
        await tmux(
          'send-keys',
          `autoload -U compinit; compinit -u; source ${join(dir, 'reef.zsh')}; PS1='rea'dy'> '`,
          'Enter',
        );
        await screen('ready>');
        for (const [typed, completed] of [
          ['reef spaw', 'reef spawn'],
          ['reef spawn codex-', 'reef spawn codex-exec'],
          ['reef run full', 'reef run full-gates'],
        ] as const) {
          await tmux('send-keys', typed, 'Tab');
          await screen(completed);
          await tmux('send-keys', 'C-u');
        }
      } finally {
        await tmux('kill-server');
      }
    },
    60_000,
  );
