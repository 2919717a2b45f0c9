import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { makeRepository } from '../../test/support/repository.ts';
import { PROJECT_CONFIG, readOverlay } from '../workflow/project/project-config.ts';
import { configState, configText, lookAtCheckout, lookAtProject, writeConfig } from './init-project.ts';

const CARGO = '[package]\nname = "coral"\n';

test('of a command that was said, the program counts, at the root; those that were found run in their folder', async () => {
  const { checkout } = makeRepository({ 'crate/Cargo.toml': CARGO });
  const { folder, commands } = await lookAtProject({ root: checkout, below: 'crate', said: { lint: 'whale --all' } });
  expect([folder, commands]).toEqual([
    'crate',
    [
      { of: 'build', command: ['cargo', 'build'], folder: 'crate' },
      { of: 'test', command: ['cargo', 'test'], folder: 'crate' },
      { of: 'lint', command: ['whale', '--all'] },
    ],
  ]);
});

test('what is written is what a run reads, is the same the next time, and what was there before is put aside', async () => {
  const { checkout, write } = makeRepository({ 'Cargo.toml': CARGO });
  const look = await lookAtProject({ root: checkout, below: '', said: { test: "echo 'so' && true" } });
  const text = configText(look.proposal);
  expect(readOverlay(text).gates).toMatchObject({
    build: { command: ['cargo', 'build'] },
    test: { command: ['sh', '-c', "echo 'so' && true"] },
  });
  expect(await configState(checkout, text, false)).toBe('new');
  const clock = manualClock(new Date('2026-05-06T07:08:09Z'));
  expect(await writeConfig(checkout, text, clock)).toBeUndefined();
  expect(await configState(checkout, text, false)).toBe('same');
  write(PROJECT_CONFIG, 'reef: {}\n');
  expect(await configState(checkout, text, false)).toBe('different');
  const aside = (await writeConfig(checkout, text, clock)) ?? '';
  expect([readFileSync(aside, 'utf8'), readFileSync(join(checkout, PROJECT_CONFIG), 'utf8')]).toEqual([
    'reef: {}\n',
    text,
  ]);
  write(PROJECT_CONFIG, 'reef: 1\n');
  await expect(configState(checkout, text, false)).rejects.toMatchObject({ code: 'config_invalid' });
});

test('folders that would be recognised are named where nothing else is', async () => {
  const { checkout } = makeRepository({ 'packages/coral/Cargo.toml': CARGO, 'README.md': '' });
  const look = await lookAtProject({ root: checkout, below: '', said: {} });
  expect([look.proposal.toolchains, look.elsewhere]).toEqual([[], ['packages/coral']]);
});

test('a checkout is looked at for its commit, its changes, and what git would take for work', async () => {
  const { checkout, git, write } = makeRepository({ '.gitignore': 'target/\n' });
  write('new.txt', '');
  write('.reef/config.yaml', '');
  expect(await lookAtCheckout(git, checkout, ['target', 'dist'])).toEqual({
    hasCommit: true,
    hasIdentity: true,
    changed: 1,
    notIgnored: ['dist'],
  });
});
