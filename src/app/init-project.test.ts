import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { makeRepository } from '../../test/support/repository.ts';
import { PROJECT_CONFIG, readOverlay } from '../workflow/project/project-config.ts';
import { configState, configText, lookAtCheckout, lookAtProject, writeConfig } from './init-project.ts';

const CARGO = '[package]\nname = "coral"\n';

/** A PATH with these programs and no others. */
function pathWith(root: string, ...programs: string[]): string {
  const folder = join(root, 'bin');
  mkdirSync(folder, { recursive: true });
  for (const name of programs) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test('a program that PATH does not have is named once', async () => {
  const { checkout, root } = makeRepository({ 'Cargo.toml': CARGO });
  const at = { root: checkout, below: '', said: {} };
  expect((await lookAtProject({ ...at, path: pathWith(root) })).missing).toEqual(['cargo']);
  expect((await lookAtProject({ ...at, path: pathWith(root, 'cargo') })).missing).toEqual([]);
});

test('of a command that was said, the program is looked for, and not that of the command it replaces', async () => {
  const { checkout, root } = makeRepository({ 'crate/Cargo.toml': CARGO, 'run-tests': '' });
  const path = pathWith(root, 'fish');
  const look = (said: Parameters<typeof lookAtProject>[0]['said']) =>
    lookAtProject({ root: checkout, below: 'crate', path, said });
  const { folder, missing, proposal } = await look({});
  expect([folder, missing]).toEqual(['crate', ['cargo']]);
  const found = Object.fromEntries(['setup', ...Object.keys(proposal.gates)].map((name) => [name, 'fish']));
  expect((await look(found)).missing).toEqual([]);
  expect((await look({ ...found, lint: 'whale --all' })).missing).toEqual(['whale']);
  // From the root of a worktree, where it runs; a path from elsewhere is one.
  expect((await look({ ...found, test: './run-tests', lint: '/bin/sh', build: './none' })).missing).toEqual(['./none']);
});

test('what is written is what a run reads, is the same the next time, and what was there before is put aside', async () => {
  const { checkout, write } = makeRepository({ 'Cargo.toml': CARGO });
  const look = await lookAtProject({ root: checkout, below: '', path: '', said: { test: "echo 'so' && true" } });
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
  const look = await lookAtProject({ root: checkout, below: '', path: '', said: {} });
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
