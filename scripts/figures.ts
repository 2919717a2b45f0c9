/**
 * npm run figures -- [--files] [--no-ways] [--installed]
 *
 * The figures of the tree: its size, what is out of place in it, and how many files a reader meets on the way of a command
 * (scripts/ways.ts). `--files` lists what was counted; `--installed` packs the package and installs it, which takes minutes.
 * `--check` prints what must not be there at all and fails if there is any: a gate of `npm run check`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { classesTwice, idsInComments, orphans, readProduct, siblingCycles, spreadsOfShorthand } from './tree.ts';
import { measureWays } from './ways.ts';

const ROOT = join(import.meta.dirname, '..');

function installedMegabytes(): number {
  const folder = mkdtempSync(join(tmpdir(), 'reef-installed-'));
  try {
    const quiet = { encoding: 'utf8' as const, stdio: ['ignore', 'pipe', 'ignore'] as ('ignore' | 'pipe')[] };
    const packed = execFileSync('npm', ['pack', '--pack-destination', folder, '--silent'], { cwd: ROOT, ...quiet });
    const archive = join(folder, packed.trim().split('\n').at(-1) ?? '');
    execFileSync('npm', ['init', '--yes'], { cwd: folder, ...quiet });
    execFileSync('npm', ['install', '--no-audit', '--no-fund', archive], { cwd: folder, ...quiet });
    rmSync(archive);
    return Number.parseInt(execFileSync('du', ['-sm', folder], quiet), 10);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const { values: options } = parseArgs({
  options: {
    check: { type: 'boolean' },
    files: { type: 'boolean' },
    installed: { type: 'boolean' },
    'no-ways': { type: 'boolean' },
  },
});

function print(name: string, figure: number | string, files: string[] = []): void {
  const shown = typeof figure === 'number' ? figure.toLocaleString('en-US') : figure;
  process.stdout.write(`${name.padEnd(50)}${shown.padStart(9)}\n`);
  if (options.files) for (const file of files) process.stdout.write(`    ${file}\n`);
}

const sources = readProduct(ROOT);
const lengths = sources.map(({ lines }) => lines).sort((a, b) => a - b);
const small = sources.filter(({ lines, users }) => lines < 40 && users.size === 1);

const forbidden: [name: string, found: string[]][] = [
  ['cycles of sibling folders', siblingCycles(sources)],
  ['files nobody imports or starts', orphans(sources)],
  ['class names used twice', classesTwice(sources)],
  ['comments with a requirement id', idsInComments(sources)],
  ['spreads of shorthand only', spreadsOfShorthand(sources)],
];

if (options.check) {
  for (const [name, found] of forbidden)
    if (found.length > 0) process.stdout.write(`${name}\n    ${found.join('\n    ')}\n`);
  process.exit(forbidden.some(([, found]) => found.length > 0) ? 1 : 0);
}

print(
  'lines of the product',
  lengths.reduce((sum, lines) => sum + lines, 0),
);
print('files of the product', lengths.length);
print('lines of the median file', lengths[Math.floor(lengths.length / 2)] ?? 0);
print('lines of the longest file', lengths.at(-1) ?? 0);
print(
  'files under 40 lines with a single importer',
  small.length,
  small.map(({ path }) => path),
);
for (const [name, found] of forbidden) print(name, found.length, found);
if (!options['no-ways']) {
  for (const { command, files, rooms } of measureWays(ROOT)) {
    print(`files on the way of ${command}`, files.length, files);
    process.stdout.write(`    ${rooms.map(([room, count]) => `${room} ${count}`).join(', ')}\n`);
  }
}
if (options.installed) print('installed package', `${installedMegabytes()} MB`);
