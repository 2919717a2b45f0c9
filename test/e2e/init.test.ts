import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeWorld, type World } from './harness.ts';

const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world.close());

async function init(...args: string[]) {
  const options = { cwd: world.repository, env: world.env };
  const running = promisify(execFile)(process.execPath, [REEF, 'init', '--json', ...args], options);
  running.child.stdin?.end();
  const { config, trust, notes, next } = JSON.parse((await running).stdout);
  return { config, trust, notes: notes.join('\n'), next: next.map(({ type }: { type: string }) => type) };
}

const inRepository = (path: string) => join(world.repository, path);

test('--force leaves a configuration alone when there is nothing to put in its place', async () => {
  const own = 'reef: { gates: { test: ["./run-tests"] } }\n';
  mkdirSync(inRepository('.reef'));
  writeFileSync(inRepository('.reef/config.yaml'), own);
  const { config, notes } = await init('--force');
  expect([config.state, readFileSync(inRepository('.reef/config.yaml'), 'utf8')]).toEqual(['kept', own]);
  expect(notes).toContain('was not changed: Reef found no test command');
  const forced = await init('--force', '--test', './run-all-tests');
  expect([forced.config.state, readFileSync(inRepository('.reef/config.yaml'), 'utf8')]).toEqual([
    'replaced',
    expect.stringContaining('test: ["./run-all-tests"] # you said so'),
  ]);
  expect((await init()).config.state).toBe('kept');
});

test('a dry run says that the commands are to be trusted, and neither writes nor starts anything', async () => {
  writeFileSync(inRepository('package.json'), '{ "scripts": { "test": "true" } }');
  const { config, trust, next } = await init('--dry-run');
  expect(config.state).toBe('would_write');
  expect(trust).toEqual([
    { name: 'package.json scripts', trusted: false },
    { name: '.reef/config.yaml', trusted: false },
  ]);
  expect(next.slice(0, 2)).toEqual(['reef init', 'reef trust --yes']);
  expect(readdirSync(world.repository).sort()).toEqual(['.git', 'package.json']);
  const { trust: asked } = await init('--yes');
  expect(asked.map(({ trusted }: { trusted: boolean }) => trusted)).toEqual([true, true]);
  expect(existsSync(inRepository('.reef/config.yaml'))).toBe(true);
  const again = await init('--dry-run');
  expect([again.config.state, again.next.includes('reef trust --yes')]).toEqual(['same', false]);
});
