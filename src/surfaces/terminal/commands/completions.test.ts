import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';

const REEF = fileURLToPath(new URL('../../../../bin/reef.cjs', import.meta.url));
const run = promisify(execFile);

const dir = temporaryFolder();
beforeAll(async () => {
  const { stdout } = await run(process.execPath, [REEF, 'completions', 'bash']);
  await writeFile(join(dir, 'reef.bash'), stdout);
});

/** What a real bash offers after these words, the last of them half typed. */
async function offered(...words: string[]): Promise<string[]> {
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reef; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await run('bash', ['--norc', '-c', script, 'bash', join(dir, 'reef.bash'), 'reef', ...words]);
  return stdout.split('\n').filter(Boolean);
}

test('bash completes commands, sub-commands and options', async () => {
  expect(await offered('sp')).toEqual(['spawn']);
  expect(await offered('s')).toEqual(['spawn', 'status', 'send', 'state']);
  expect(await offered('spawn', '--budget')).toEqual(['--budget-tokens', '--budget-turns', '--budget-time']);
  expect(await offered('send', '01K', '--al')).toEqual(['--allow', '--always']);
  expect(await offered('daemon', '')).toEqual(expect.arrayContaining(['status', 'stop']));
  expect(await offered('daemon', 'stop', '--k')).toEqual(['--kill-jobs']);
  expect(await offered('kill', '--')).toEqual(expect.arrayContaining(['--all', '--json']));
});

test('a word that only looks like a command of another changes nothing', async () => {
  expect(await offered('spawn', 'claude', 'stop', '--unsa')).toEqual(['--unsafe']);
});

test('zsh and fish get scripts of their own', async () => {
  const zsh = (await run(process.execPath, [REEF, 'completions', 'zsh'])).stdout;
  expect(zsh).toMatch(/^#compdef reef\n/);
  const fish = (await run(process.execPath, [REEF, 'completions', 'fish'])).stdout;
  expect(fish).toContain("complete -c reef -f -n '__fish_use_subcommand' -a spawn -d 'Start a coding agent on a task'");
  expect(fish).toContain("-n '__fish_seen_subcommand_from daemon; and __fish_seen_subcommand_from stop' -l kill-jobs");
});
