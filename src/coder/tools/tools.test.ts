import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, calls, choice, done } from '../../../test/support/coder/scene.ts';
import { sceneOfTest } from '../../../test/support/coder/scene-of-test.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import { SYSTEM_TEXT } from '../system-text.ts';

verifies('S-55', 'X-40').test(
  'the coder has its fourteen tools, and reads, lists, writes and edits with them',
  async () => {
    const scene = await sceneOfTest({
      files: { 'a.txt': 'one\ntwo\nthree\n', 'src/b.ts': 'export const b = 1;\n' },
      script: [
        call('read_file', { path: 'a.txt' }),
        call('read_file', { path: 'a.txt', from: 2, to: 2 }),
        call('list_files', {}),
        call('list_files', { path: 'src' }),
        call('write_file', { path: 'src/deep/c.ts', content: 'export const c = 3;\n' }),
        call('edit_file', { path: 'a.txt', old: 'two', new: 'zwei' }),
        call('edit_file', { path: '../a.txt', old: 'x', new: 'y' }),
        call('write_file', { path: '.git/config', content: '' }),
        done('Read and written.'),
      ],
    });
    expect(await scene.work()).toEqual({ result: 'Read and written.', endedBy: 'done' });
    const results = scene.results();
    expect(results.slice(0, 4)).toEqual([
      'read_file: one\ntwo\nthree\n',
      'read_file: lines 2-2 of 4\ntwo',
      'list_files: a.txt 14\nsrc/',
      'list_files: b.ts 20',
    ]);
    expect(results.slice(4, 6).map((line) => JSON.parse(line.slice(line.indexOf('{'))))).toMatchObject([
      { success: true, noop: false, path: 'src/deep/c.ts', size: 20 },
      { success: true, noop: false, path: 'a.txt', size: 15 },
    ]);
    expect(results.slice(6, 8).map((line) => /"code":"(\w+)"/.exec(line)?.[1])).toEqual([
      'path_outside_worktree',
      'path_outside_worktree',
    ]);
    expect([scene.file('a.txt'), scene.file('src/deep/c.ts')]).toEqual(['one\nzwei\nthree\n', 'export const c = 3;\n']);
    expect([...scene.tools].sort()).toEqual([
      ...['artifact_read', 'ask_user', 'code_search', 'done', 'edit_file', 'get_file_outline', 'get_symbol'],
      ...['get_symbol_references', 'list_files', 'read_file', 'repo_state', 'run_command', 'todo', 'write_file'],
    ]);
    const tools = scene.ledgers[0]?.segments.find(({ kind }) => kind === 'tools');
    expect([tools?.provenance, (tools?.tokens ?? 9_999) <= 1_600]).toEqual(['reef', true]);
    const [system] = scene.prompts[0] ?? [];
    expect(system).toEqual({ role: 'system', content: SYSTEM_TEXT });
  },
);

/** Seconds that no other program sleeps. */
const UNUSUAL = `311.${process.pid}`;

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it has just ended
  }
}

verifies('S-55').test('a command runs in the worktree, and what it started ends with it', async () => {
  const scene = await sceneOfTest({
    script: [
      call('run_command', { command: 'pwd; echo oops >&2; exit 3' }),
      call('run_command', { command: `sleep ${UNUSUAL} & sleep ${UNUSUAL}`, timeout_s: 1 }),
      call('run_command', { command: 'true', timeout_s: 601 }),
      done(),
    ],
  });
  expect(await scene.work()).toMatchObject({ endedBy: 'done' });
  const [first, second, third] = scene.results();
  expect([first, second]).toEqual([
    `run_command: exit 3\n${scene.checkout}\noops\n`,
    'run_command: exit none\n\nended after 1 s',
  ]);
  expect(third).toContain('do not fit');
  const left = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(UNUSUAL));
  expect(left).toEqual([]);
  expect(scene.tracker.getSnapshot().runs.map(({ turn, exit }) => [turn, exit])).toEqual([
    [1, 3],
    [2, null],
  ]);
});

verifies('S-55', 'S-51').test(
  'a question reaches a person, its answer is kept as a note, and the plan is in the state',
  async () => {
    const scene = await sceneOfTest({
      script: [
        call('ask_user', { question: 'Tabs or spaces?', options: ['tabs', 'spaces'] }),
        call('ask_user', { question: 'Which name?' }),
        call('todo', { op: 'set', items: ['first', 'second'] }),
        call('todo', { op: 'start', id: 'k1' }),
        call('todo', { op: 'note', text: 'keep the signature' }),
        call('repo_state', { section: 'tasks' }),
        calls(['todo', { op: 'complete', id: 'k1' }], ['todo', { op: 'drop', id: 'k2', reason: 'not needed' }]),
        call('repo_state', {}),
        done(),
      ],
      answers: [choice('tabs'), { kind: 'input', text: 'Ada' }],
    });
    expect(await scene.work()).toMatchObject({ endedBy: 'done' });
    expect(scene.asked).toEqual([
      { kind: 'choice', question: 'Tabs or spaces?', options: ['tabs', 'spaces'] },
      { kind: 'input', question: 'Which name?' },
    ]);
    const results = scene.results();
    expect(results.slice(0, 6)).toEqual([
      'ask_user: tabs',
      'ask_user: Ada',
      'todo: k1 [pending] first\nk2 [pending] second',
      'todo: k1 [in_progress] first\nk2 [pending] second',
      'todo: k1 [in_progress] first\nk2 [pending] second',
      'repo_state: k1 [in_progress] first\nk2 [pending] second',
    ]);
    expect(results[8]).toContain('--- Repository State ---');
    expect(results[8]).toContain('t1 user: tabs');
    expect(scene.tracker.getSnapshot().notes.map(({ text }) => text)).toEqual([
      'user: tabs',
      'user: Ada',
      'keep the signature',
    ]);
  },
);

verifies('S-55', 'S-54').test('code tools ask about its own worktree, and without the daemon they say so', async () => {
  const wanted: unknown[] = [];
  const script = [
    call('get_file_outline', { file_path: 'a.txt' }),
    call('get_symbol', { name: 'a' }),
    call('get_symbol_references', { name: 'a' }),
    call('code_search', { query: 'alpha' }),
    done(),
  ];
  const asking = await sceneOfTest({
    script,
    parts: {
      askCode: async (tool, args) => {
        wanted.push([tool, args]);
        return 'an answer';
      },
    },
  });
  await asking.work();
  expect(wanted).toEqual([
    ['get_file_outline', { file_path: 'a.txt' }],
    ['get_symbol', { name: 'a' }],
    ['get_symbol_references', { name: 'a' }],
    ['code_search', { query: 'alpha' }],
  ]);
  const alone = await sceneOfTest({ script: [script[0], call('read_file', { path: 'a.txt' }), done()] });
  await alone.work();
  expect(alone.results().slice(0, 2)).toEqual([
    'get_file_outline! {"tool_call_error":"No daemon here.","code":"daemon_unavailable","stderr":""}',
    'read_file: alpha\n',
  ]);
});

verifies('S-20', 'S-22', 'S-27').test(
  'identical bytes are no write, and a file is seen before it is overwritten',
  async () => {
    const scene = await sceneOfTest({
      script: [
        call('write_file', { path: 'a.txt', content: 'alpha\n' }),
        call('write_file', { path: 'b.txt', content: 'beta\n' }),
        call('write_file', { path: 'b.txt', content: 'gamma\n' }),
        call('run_command', { command: 'echo new > b.txt; echo c > c.txt; git add -A' }),
        call('write_file', { path: 'b.txt', content: 'gamma\n', replace: true }),
        call('edit_file', { path: 'c.txt', old: 'c', new: 'd' }),
        call('read_file', { path: 'c.txt' }),
        call('edit_file', { path: 'c.txt', old: 'c', new: 'c' }),
        done(),
      ],
    });
    const before = statSync(join(scene.checkout, 'a.txt'), { bigint: true });
    await scene.work();
    const after = statSync(join(scene.checkout, 'a.txt'), { bigint: true });
    expect([after.mtimeNs, after.ino]).toEqual([before.mtimeNs, before.ino]);
    const results = scene.results();
    expect(results[0]).toBe(
      'write_file: {"success":true,"noop":true,"message":"File already exists with identical content"}',
    );
    const { count } = await loadTokenCounter();
    expect(count(results[0]?.slice('write_file: '.length) ?? '')).toBeLessThanOrEqual(20);
    const codes = [2, 4, 5].map((n) => /"code":"(\w+)"/.exec(results[n] ?? '')?.[1]);
    expect([codes, results[7]]).toEqual([
      ['file_exists', 'stale_file', 'unread_file'],
      'edit_file: {"success":true,"noop":true,"message":"The edit changes nothing"}',
    ]);
    const listed = scene.tracker.getSnapshot().files.map(({ path }) => path);
    expect(listed.includes('a.txt')).toBe(false);
  },
);

verifies('S-01', 'S-16').test(
  'when the state cannot be written the agent still gets its results, and a warning says why',
  async () => {
    const scene = await sceneOfTest({
      script: [call('write_file', { path: 'b.txt', content: 'beta\n' }), done()],
    });
    // A file where its folder should be: neither lock nor state can be written.
    writeFileSync(join(scene.checkout, '../state'), '');
    expect(await scene.work()).toMatchObject({ endedBy: 'done' });
    expect(scene.results()[0]).toContain('"success":true');
    expect(scene.events.some(({ type }) => type === 'warning')).toBe(true);
  },
);

verifies('S-01').test('reads of one reply are all in the state', async () => {
  const names = ['a', 'b', 'c', 'd'].map((name) => `${name}.txt`);
  const scene = await sceneOfTest({
    files: Object.fromEntries(names.map((name) => [name, `${name}\n`])),
    script: [calls(...names.map((path): [string, unknown] => ['read_file', { path }])), done()],
  });
  await scene.work();
  const read = scene.tracker.getSnapshot().files.map(({ path, read: by }) => `${path} t${by?.turn}`);
  expect(read.sort()).toEqual(names.map((name) => `${name} t1`));
});
