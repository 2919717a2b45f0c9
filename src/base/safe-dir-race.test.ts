import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect } from 'vitest';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createSafeDir } from './safe-dir.ts';

const CANARY = 'outside the worktree';
const onLinux = process.platform === 'linux';
let base: string;
let root: string;

beforeEach(() => {
  base = temporaryFolder();
  root = join(base, 'root');
  for (const dir of ['outside', 'root/swap']) mkdirSync(join(base, dir), { recursive: true });
  writeFileSync(join(base, 'outside/secret'), CANARY);
  writeFileSync(join(root, 'swap/secret'), 'inside');
  symlinkSync('../outside', join(root, 'trap'));
});

/**
 * Turns the folder `swap` into a link to the outside and back, as fast as it can. A write that came between two renames
 * made a folder `swap` of its own: that is moved away.
 */
const FLIPPER = `
const { existsSync, renameSync, symlinkSync } = require('node:fs');
process.chdir(process.argv[1]);
process.stdin.on('end', () => process.exit()).resume();
let junk = 0;
const attempt = (work) => { try { work(); } catch {} };
const flip = () => {
  attempt(() => {
    for (let n = 0; n < 200; n++) {
      renameSync('swap', 'real'); renameSync('trap', 'swap');
      renameSync('swap', 'trap'); renameSync('real', 'swap');
    }
  });
  if (existsSync('real')) attempt(() => renameSync('swap', 'junk' + junk++));
  attempt(() => renameSync('real', 'swap'));
  attempt(() => symlinkSync('../outside', 'trap'));
  setImmediate(flip);
};
console.log('ready');
flip();
`;

async function whileFlipping(use: () => Promise<void>): Promise<void> {
  const child = spawn(process.execPath, ['-e', FLIPPER, root], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  try {
    await use();
  } finally {
    child.stdin.end();
    await ended;
  }
}

type Counts = Record<string, number>;

/**
 * What the attempts came to: content that was read, or the code of the failure. At least `least` of them, then as many
 * as it takes for the race to have been `hit`, with a bound: how often it is depends on the machine.
 */
async function tally(work: () => Promise<unknown>, least: number, hit: (counts: Counts) => boolean): Promise<Counts> {
  const counts: Counts = {};
  await whileFlipping(async () => {
    for (let n = 0; n < 100_000 + least && (n < least || !hit(counts)); n++) {
      const result = await work().then(String, (error: NodeJS.ErrnoException) => String(error.code));
      counts[result] = (counts[result] ?? 0) + 1;
    }
  });
  return counts;
}

/** The known-bad twin: looks first, opens then. */
async function checkThenRead(): Promise<Buffer> {
  if (lstatSync(join(root, 'swap')).isSymbolicLink()) throw new Error('refused');
  return readFile(join(root, 'swap/secret'));
}

const linux = (...ids: ['X-41', 'X-43' | 'X-112']) =>
  verifies(...ids).needs(onLinux, 'only Linux has the descriptor walk');

linux('X-41', 'X-112').test(
  'a racing link never leads the descriptor walk outside, as it does a check before use',
  async () => {
    const least = scale('X-41', { test: 4_000, faults: 120_000, soak: 120_000 });
    const safe = createSafeDir(root);
    const walk = await tally(
      () => safe.read('swap/secret'),
      least,
      (counts) => 'inside' in counts && 'path_outside_worktree' in counts,
    );
    const twin = await tally(checkThenRead, 0, (counts) => CANARY in counts);
    expect(Object.keys(walk)).toEqual(expect.arrayContaining(['inside', 'path_outside_worktree']));
    expect([CANARY in walk, CANARY in twin]).toEqual([false, true]);
  },
  120_000,
);

linux('X-41', 'X-43').test(
  'writes under a racing link never reach the outside',
  async () => {
    const safe = createSafeDir(root);
    const results = await tally(
      () => safe.write('swap/planted', Buffer.from('x')),
      300,
      (counts) => 'undefined' in counts && 'path_outside_worktree' in counts,
    );
    expect(readdirSync(join(base, 'outside'))).toEqual(['secret']);
    expect(Object.keys(results)).toEqual(expect.arrayContaining(['undefined', 'path_outside_worktree']));
  },
  120_000,
);
