import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { filesOf, makeWorld, stateDirIn, trackerOn } from '../../../test/support/repostate/world.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { emptyState, readState, stateFile, writeState } from './state-file.ts';
import { holdWriterLock } from './writer-lock.ts';

const clock = manualClock(new Date('2026-05-06T07:08:09Z'));

verifies('S-16', 'S-65').test(
  'what is written is read again, in snake case, and lies outside the checkout',
  async () => {
    const { tracker, repository } = await makeWorld({ 'a.txt': 'one\n' });
    repository.write('b.txt', 'two\n');
    tracker.beginTurn(2);
    await tracker.updateFromToolResult('write_file', { path: 'b.txt', success: true });
    tracker.setTasks([{ id: 'k1', description: 'do it', priority: 1, status: 'pending' }]);
    await tracker.persist();
    await tracker.close();
    const raw = JSON.parse(readFileSync(stateFile(stateDirIn(repository)), 'utf8'));
    const report = await readState({ stateDir: stateDirIn(repository), workDir: repository.checkout }, clock);
    expect(Object.keys(raw).filter((key) => /[A-Z]/.test(key))).toEqual([]);
    expect(raw.files[0]).toMatchObject({
      path: 'b.txt',
      mod_time: expect.any(String),
      wrote: { job_id: 'j-1', turn: 2, via: 'tool' },
    });
    expect(report).toEqual({ from: 'file', state: tracker.getSnapshot() });
    expect(repository.plain('status', '--porcelain', '--untracked-files=all')).toBe('?? b.txt');
  },
);

const WRITER = `
const { emptyState, writeState } = await import(process.argv[1]);
console.log('ready');
for (let n = 1; ; n++) {
  const text = String(n % 10).repeat(200_000);
  await writeState(process.argv[2], { ...emptyState('/w', 's'), seq: n % 10, notes: [{ turn: n % 10, text }] });
}
`;

verifies('S-16').test(
  'killed at any moment a writer leaves the old state or the new one, never a torn one',
  async () => {
    const dir = temporaryFolder();
    await writeState(dir, emptyState('/w', 's'));
    const torn: unknown[] = [];
    for (let round = 0; round < 15; round++) {
      const module = join(import.meta.dirname, 'state-file.ts');
      const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', WRITER, module, dir], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      if (child.stdout) await once(child.stdout, 'data');
      await systemClock.sleep(2 + round * 3.7);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const report = await readState({ stateDir: dir, workDir: dir }, clock);
      const note = 'state' in report ? report.state.notes[0] : undefined;
      const isWhole = 'state' in report && (note === undefined || new Set(note.text).size === 1);
      if (!isWhole || (note && Number(note.text[0]) !== note.turn)) torn.push(report);
    }
    expect(torn).toEqual([]);
    expect(readdirSync(dir).filter((name) => name.includes('corrupt'))).toEqual([]);
  },
);

verifies('S-17').test("the seed's own file is imported, gains a version, and is never written", async () => {
  const dir = temporaryFolder();
  const old = {
    work_dir: '/home/dev/coder-001',
    story_id: 'hello-001',
    files: [
      {
        path: 'cmd/main.go',
        hash: 'a4f3e1b2',
        size: 245,
        mod_time: '2025-10-22T03:15:42Z',
        type: 'go',
        status: 'created',
      },
    ],
    open_tasks: [{ description: 'Add unit tests', status: 'pending', priority: 1 }],
    last_updated: '2025-10-22T03:15:42Z',
    mood: 'hopeful',
  };
  mkdirSync(join(dir, '.maestro'));
  const file = join(dir, '.maestro', 'repostate.json');
  writeFileSync(file, JSON.stringify(old));
  const report = await readState({ stateDir: dir, workDir: dir }, clock);
  if (report.from !== 'maestro') throw new Error(report.from);
  await writeState(dir, report.state);
  expect(report.state).toMatchObject({
    version: 1,
    workDir: dir,
    storyId: 'hello-001',
    files: [{ path: 'cmd/main.go', modTime: '2025-10-22T03:15:42Z', status: 'created' }],
    openTasks: [{ id: 'k1', description: 'Add unit tests', status: 'pending', priority: 1 }],
  });
  expect(readFileSync(file, 'utf8')).toBe(JSON.stringify(old));
  expect(JSON.parse(readFileSync(stateFile(dir), 'utf8'))).toMatchObject({ mood: 'hopeful', version: 1 });
});

verifies('S-17').test('fields of a newer minor Reef survive a round trip wherever they stand', async () => {
  const dir = temporaryFolder();
  await writeState(dir, emptyState(dir, 's'));
  const file = stateFile(dir);
  const raw = JSON.parse(readFileSync(file, 'utf8'));
  const extra = {
    ...raw,
    someThing: { nested_key: 1 },
    files: [
      { path: 'a', hash: '', size: 0, mod_time: '', type: 'a', status: 'deleted', owner_name: 'x', newField: [1] },
    ],
    open_tasks: [{ id: 'k1', description: 'd', priority: 1, status: 'pending', due_date: 'soon' }],
  };
  writeFileSync(file, JSON.stringify(extra));
  const report = await readState({ stateDir: dir, workDir: dir }, clock);
  if (!('state' in report)) throw new Error(report.from);
  await writeState(dir, report.state);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(extra);
});

verifies('S-18').test('an unreadable file is set aside and told, and the state is rebuilt from git', async () => {
  const world = await makeWorld({ 'a.txt': 'one\n' });
  world.repository.write('a.txt', 'two\n');
  mkdirSync(stateDirIn(world.repository));
  const base = world.repository.plain('rev-parse', 'HEAD');
  const results: unknown[] = [];
  for (const bad of ['{"version":1,', '[]', '{"version":1,"files":7}', '', '{"version":2,"work_dir":"/w"}']) {
    writeFileSync(stateFile(stateDirIn(world.repository)), bad);
    const { tracker, warnings } = trackerOn(world.repository, base, {
      clock: { ...systemClock, now: () => clock.now() },
    });
    const { from } = await tracker.load();
    await tracker.refresh('load');
    results.push([from, warnings, filesOf(tracker)]);
  }
  const corrupt = ['corrupt', ['repostate_corrupt'], ['a.txt modified']];
  expect(results).toEqual([corrupt, corrupt, corrupt, corrupt, ['newer', ['repostate_newer'], ['a.txt modified']]]);
  const aside = 'repostate.json.corrupt-2026-05-06T07-08-09.000Z';
  expect(readdirSync(stateDirIn(world.repository)).sort()).toEqual([
    aside,
    `${aside}-2`,
    `${aside}-3`,
    `${aside}-4`,
    'repostate.json.v2-2026-05-06T07-08-09.000Z',
  ]);
});

verifies('S-18').test('a state that cannot be written is a warning', async () => {
  const { tracker, repository, warnings } = await makeWorld({ 'a.txt': 'one\n' });
  mkdirSync(stateFile(stateDirIn(repository)), { recursive: true });
  writeFileSync(join(stateFile(stateDirIn(repository)), 'in-the-way'), '');
  await tracker.persist();
  await tracker.close();
  expect(warnings).toEqual(['repostate_write_failed']);
});

verifies('S-19').test('after a restart the state is as it was, and what happened meanwhile was outside', async () => {
  const first = await makeWorld({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
  first.tracker.beginTurn(3);
  first.repository.write('a.txt', 'two\n');
  await first.tracker.updateFromToolResult('write_file', { path: 'a.txt', success: true });
  await first.tracker.persist();
  const before = structuredClone(first.tracker.getSnapshot());
  await first.tracker.close();
  const base = first.repository.plain('rev-parse', 'HEAD');
  const second = trackerOn(first.repository, base);
  await second.tracker.load();
  await second.tracker.refresh('load');
  expect(second.tracker.getSnapshot()).toEqual(before);
  first.repository.write('b.txt', 'two\n');
  const third = trackerOn(first.repository, base);
  await third.tracker.load();
  expect((await third.tracker.refresh('load')).lines).toHaveLength(1);
});

verifies('S-08').test('one process writes; its lock falls to the next when it is gone', async () => {
  const dir = temporaryFolder();
  const program = `const { holdWriterLock } = await import(process.argv[1]);
    await holdWriterLock(process.argv[2]); console.log('held'); setInterval(() => {}, 1000);`;
  const module = join(import.meta.dirname, 'writer-lock.ts');
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, module, dir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  await expect(holdWriterLock(dir)).rejects.toMatchObject({ code: 'repostate_locked', details: { pid: child.pid } });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const lock = await holdWriterLock(dir);
  await lock.release();
  expect(readdirSync(dir)).toEqual([]);
});

test('a lock that names nobody is nobody’s', async () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'repostate.lock'), 'rubbish');
  const lock = await holdWriterLock(dir);
  await lock.release();
});
