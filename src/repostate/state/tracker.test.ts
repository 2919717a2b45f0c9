import { appendFileSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesOf, liesOf, makeWorld } from '../../../test/support/repostate/world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { formatForPrompt } from '../snapshot/format.ts';

const FILES = {
  'src/tax.ts': 'export const tax = 1;\n',
  'src/cart.ts': 'export const cart = [];\n',
  'docs/guide.md': '# Guide\n',
  '.gitignore': 'dist/\n',
};

verifies('S-02', 'S-04', 'S-65').test(
  'after sed, a formatter, checkout, mv, rm and links the state is what git and the disk say',
  async () => {
    const world = await makeWorld(FILES);
    const { tracker, shell } = world;
    const commands = [
      "sed -i 's/tax = 1/tax = 2/' src/tax.ts",
      'for f in src/*.ts; do printf \'%s;\\n\' "$(cat $f)" > $f; done',
      'git checkout -q -b other && mkdir -p lib && echo "made" > lib/new.txt',
      'git mv docs/guide.md docs/manual.md',
      'rm src/cart.ts',
      'ln -s tax.ts src/alias.ts && git add src/alias.ts',
      'git checkout -q -- src/tax.ts',
      'git add -A && git commit -q -m work && echo more >> lib/new.txt',
      'chmod +x src/tax.ts',
      'printf "one\\r\\ntwo\\r\\n" > crlf.txt && git -c core.safecrlf=false config core.autocrlf input',
    ];
    const told: string[][] = [];
    for (const [turn, command] of commands.entries()) {
      tracker.beginTurn(turn);
      shell(command);
      await tracker.updateFromToolResult('run_command', { command, exit: 0, output: '' });
      told.push([...liesOf(world, tracker.getSnapshot())]);
    }
    expect(told).toEqual(commands.map(() => []));
    expect({ files: filesOf(tracker), branch: tracker.getSnapshot().branch }).toEqual({
      branch: 'other',
      files: [
        'crlf.txt created command t9',
        'docs/manual.md created from docs/guide.md command t3',
        'lib/new.txt created command t7',
        'src/alias.ts created command t5',
        'src/cart.ts deleted command t4',
        'src/tax.ts modified command t8',
      ],
    });
  },
);

verifies('S-01', 'S-04', 'S-06').test(
  'a tool, a command and an editor are told apart, and only the last is a divergence',
  async () => {
    const { tracker, repository, news } = await makeWorld(FILES);
    tracker.beginTurn(3);
    repository.write('src/tax.ts', 'by tool\n');
    await tracker.updateFromToolResult('write_file', { path: 'src/tax.ts', success: true });
    repository.write('src/cart.ts', 'by command\n');
    await tracker.updateFromToolResult('run_command', { command: 'make', exit: 0, output: 'done' });
    tracker.beginTurn(4);
    const before = tracker.getSnapshot().files.find(({ path }) => path === 'src/tax.ts')?.hash ?? '';
    repository.write('src/tax.ts', 'by somebody\n');
    repository.write('fresh.txt', 'by somebody\n');
    const delta = await tracker.refresh('turn');
    const after = tracker.getSnapshot().files.find(({ path }) => path === 'src/tax.ts')?.hash ?? '';
    expect(filesOf(tracker)).toEqual([
      'fresh.txt created outside t4',
      'src/cart.ts modified command t3',
      'src/tax.ts modified outside t4',
    ]);
    expect(delta.lines.toSorted()).toEqual([
      `State delta: fresh.txt was created outside this agent (${(tracker.getSnapshot().files.find(({ path }) => path === 'fresh.txt')?.hash ?? '').slice(0, 6)}).`,
      `State delta: src/tax.ts changed outside this agent (${before.slice(0, 6)}→${after.slice(0, 6)}). Read it before editing.`,
    ]);
    expect(news.filter(({ kind }) => kind === 'repostate.divergence')).toContainEqual({
      kind: 'repostate.divergence',
      path: 'src/tax.ts',
      oldHash: before,
      newHash: after,
    });
    expect((await tracker.refresh('turn')).lines).toEqual([]);
  },
);

verifies('S-05').test('a change within one tick of the clock, with size and time put back, is still seen', async () => {
  const { tracker, repository } = await makeWorld(FILES);
  const file = join(repository.checkout, 'src/tax.ts');
  await tracker.updateFromToolResult('read_file', { path: 'src/tax.ts', range: [1, 1] });
  repository.write('src/tax.ts', 'export const tax = 7;\n');
  await tracker.refresh('turn');
  const { atime, mtime } = statSync(file);
  writeFileSync(file, 'export const tax = 8;\n');
  utimesSync(file, atime, mtime);
  const { lines } = await tracker.refresh('turn');
  expect(lines).toEqual([expect.stringContaining('src/tax.ts changed outside')]);
  expect(readFileSync(file, 'utf8')).toContain('8');
});

verifies('S-05').test('another file in the place of one is seen though its size and time are the same', async () => {
  const { tracker, repository } = await makeWorld(FILES);
  const file = join(repository.checkout, 'src/tax.ts');
  const past = new Date(Date.now() - 3_600_000);
  writeFileSync(file, 'AAAA');
  utimesSync(file, past, past);
  await tracker.refresh('turn');
  writeFileSync(`${file}.new`, 'BBBB');
  utimesSync(`${file}.new`, past, past);
  renameSync(`${file}.new`, file);
  const { lines } = await tracker.refresh('turn');
  expect(lines).toEqual([expect.stringContaining('src/tax.ts changed outside')]);
});

verifies('S-03').test('what was read is listed with what differs; at most 2,000, the rest counted', async () => {
  const { tracker, repository } = await makeWorld(FILES);
  tracker.beginTurn(5);
  await tracker.updateFromToolResult('read_file', { path: 'src/cart.ts', range: [1, 9] });
  for (let n = 0; n < 2_050; n++) repository.write(`many/${n}.txt`, `${n}\n`);
  await tracker.refresh('command');
  const { files, filesOmitted } = tracker.getSnapshot();
  expect([files.length, filesOmitted]).toEqual([2_000, 51]);
  expect(files.every(({ hash, blob }) => hash !== '' && blob !== undefined)).toBe(true);
});

verifies('S-02').test('ignored files are listed only when a tool wrote them, Reef own folders never', async () => {
  const { tracker, repository } = await makeWorld(FILES);
  repository.write('dist/noise.js', 'x');
  repository.write('.maestro/repostate.json', '{}');
  repository.write('dist/mine.js', 'y');
  await tracker.updateFromToolResult('write_file', { path: 'dist/mine.js', success: true });
  await tracker.updateFromToolResult('write_file', { path: '.reef/x', success: true });
  await tracker.persist();
  await tracker.refresh('turn');
  await tracker.close();
  expect(filesOf(tracker)).toEqual(['dist/mine.js unchanged tool t0']);
});

verifies('S-07').test(
  'when git does not answer, nothing is asserted; when it does again, all is known again',
  async () => {
    let isBroken = false;
    const { tracker, repository, warnings } = await makeWorld(FILES, {
      source: (real) => ({
        ...real,
        look: () => (isBroken ? Promise.reject(new Error('git took longer than 10000 ms')) : real.look()),
      }),
    });
    repository.write('src/tax.ts', 'changed\n');
    await tracker.refresh('command');
    isBroken = true;
    repository.write('src/tax.ts', 'changed again\n');
    const delta = await tracker.refresh('turn');
    const shown = formatForPrompt(tracker.getSnapshot());
    isBroken = false;
    await tracker.refresh('turn');
    expect([
      delta.lines,
      warnings.length,
      shown.includes('src/tax.ts - state unknown: read it before editing'),
    ]).toEqual([[], 1, true]);
    expect(filesOf(tracker)).toEqual(['src/tax.ts modified outside t0']);
  },
);

verifies('S-07').test('without git only tools tell, and the snapshot says so', async () => {
  const { tracker, repository } = await makeWorld(FILES, { source: () => undefined as never });
  repository.write('src/tax.ts', 'changed\n');
  repository.write('src/cart.ts', 'changed\n');
  await tracker.updateFromToolResult('write_file', { path: 'src/tax.ts', success: true });
  expect([tracker.getSnapshot().source, filesOf(tracker)]).toEqual(['tools', ['src/tax.ts created tool t0']]);
  expect(formatForPrompt(tracker.getSnapshot())).toContain('known from tools only');
});

verifies('S-01').test('a failure of the tracker is a warning and reaches nobody else', async () => {
  const { tracker, warnings } = await makeWorld(FILES, {
    tell: () => {
      throw new Error('log is gone');
    },
  });
  await tracker.updateFromToolResult('run_command', { command: 'echo x > made.txt', exit: 0, output: '' });
  const { repository } = await makeWorld(FILES);
  repository.write('x', 'y');
  const broken = await makeWorld(FILES, {
    tell: () => {
      throw new Error('log is gone');
    },
  });
  broken.repository.write('made.txt', 'x');
  await broken.tracker.updateFromToolResult('run_command', { command: 'true', exit: 0, output: '' });
  expect([warnings, broken.warnings]).toEqual([[], ['the repository state was not updated']]);
});

verifies('S-09').test('a check holds for the tree it ran on and no other', async () => {
  const { tracker, repository } = await makeWorld(FILES, { checks: { test: 'npm test', lint: 'npm run lint' } });
  await tracker.updateFromToolResult('run_command', { command: 'npm test', exit: 0, output: 'ok' });
  await tracker.updateFromToolResult('run_command', { command: 'npm run lint', exit: 1, output: 'bad' });
  await tracker.updateFromToolResult('run_command', { command: 'npm test -- --watch', exit: 1, output: '' });
  const line = () =>
    formatForPrompt(tracker.getSnapshot())
      .split('\n')
      .find((one) => one.startsWith('Checks'));
  const fresh = line();
  appendFileSync(join(repository.checkout, 'src/tax.ts'), '// more\n');
  await tracker.refresh('turn');
  const stale = line();
  repository.plain('checkout', '-q', '--', 'src/tax.ts');
  await tracker.refresh('turn');
  expect([fresh, stale, line()]).toEqual([
    'Checks: test ok t0, lint FAIL t0',
    'Checks: test ok t0 (stale), lint FAIL t0 (stale)',
    'Checks: test ok t0, lint FAIL t0',
  ]);
});

verifies('S-27').test('a no-op changes nothing in the state', async () => {
  const { tracker, news } = await makeWorld(FILES);
  const before = structuredClone(tracker.getSnapshot());
  await tracker.updateFromToolResult('write_file', { path: 'src/tax.ts', success: true, noop: true });
  const { lastUpdated: _, ...after } = tracker.getSnapshot();
  const { lastUpdated: __, ...expected } = before;
  expect([after, news]).toEqual([expected, []]);
});

test('runs keep the line that tells', async () => {
  const { tracker } = await makeWorld(FILES);
  await tracker.updateFromToolResult('run_command', {
    command: 'npm test',
    exit: 1,
    output: 'a\nAssertionError: expected 1\nran 2 tests\n',
  });
  await tracker.updateFromToolResult('run_command', { command: 'ls', exit: 0, output: 'a\nb\n' });
  await tracker.updateFromToolResult('run_command', { command: 'sleep 9', exit: null, output: '' });
  expect(tracker.getSnapshot().runs).toEqual([
    { jobId: expect.any(String), turn: 0, command: 'npm test', exit: 1, line: 'AssertionError: expected 1' },
    { jobId: expect.any(String), turn: 0, command: 'ls', exit: 0, line: 'b' },
    { jobId: expect.any(String), turn: 0, command: 'sleep 9', exit: null, line: '' },
  ]);
});
