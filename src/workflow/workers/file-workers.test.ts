import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { added, contextFor, inputFor, segment } from '../../../test/support/workflow/worker-input.ts';
import { createSafeDir, type SafeDir } from '../../base/safe-dir.ts';
import type { Json } from '../../protocol/workflow.ts';
import { fileSystemWriter } from './file-system-writer.ts';
import { updateChangePlan } from './update-change-plan.ts';

let dir: string;
beforeEach(() => {
  dir = temporaryFolder();
});

const code = (id: string, filePath: string, fileContent: string) =>
  segment(id, 'CODE_OUTPUT', { filePath, fileContent });
const doc = (id: string, filePath: string, fileContent: string) =>
  segment(id, 'DOCUMENTATION_OUTPUT', { filePath, fileContent });
const read = (path: string) => readFileSync(join(dir, path), 'utf8');
const write = (payload: Parameters<typeof inputFor>[1], applied: string[] = []) =>
  fileSystemWriter({ openDir: createSafeDir })(inputFor(dir, payload), contextFor({}, applied));

/** The seed's mocked file system: remembers absolute paths and contents, and fails where it is told. */
function fakeDir(failing: string[] = []) {
  const calls: [path: string, content: string][] = [];
  const absent = Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  const openDir = (root: string): SafeDir => ({
    root,
    read: () => Promise.reject(absent),
    stat: () => Promise.reject(absent),
    list: () => Promise.resolve([]),
    remove: () => Promise.resolve(),
    async write(path, data) {
      calls.push([join(root, path), Buffer.from(data).toString()]);
      if (failing.includes(path))
        throw Object.assign(new Error(`EACCES: permission denied, open '${path}'`), { code: 'EACCES' });
    },
  });
  return { calls, openDir };
}

describe('FileSystemWriter with a chosen file system', () => {
  verifies('W-47', 'W-48').test('writes every segment to its absolute path with its exact content', async () => {
    const { calls, openDir } = fakeDir();
    const payload = [
      code('a', 'src/new.ts', 'export {};\n'),
      segment('x', 'TEST_RESULT', 'not mine'),
      doc('b', './docs//guide.md', '# Guide'),
    ];
    const output = await fileSystemWriter({ openDir })(inputFor('/a tree', payload), contextFor());
    expect(calls).toEqual([
      ['/a tree/src/new.ts', 'export {};\n'],
      ['/a tree/docs/guide.md', '# Guide'],
    ]);
    expect(output).toEqual({
      signal: 'SIGNAL:SUCCESS',
      new_payload: payload,
      stats: { filesWritten: 2, linesWritten: 2 },
      applied: ['a', 'b'],
    });
  });

  verifies('C-034').test('what was written is announced, also when a later write fails', async () => {
    const { openDir } = fakeDir(['c']);
    const told: unknown[] = [];
    const writer = fileSystemWriter({ openDir, edited: (...args) => told.push(args) });
    await writer(inputFor('/w', [code('a', 'src/a.ts', 'a')]), contextFor());
    const payload = ['b', 'c'].map((path) => code(path, path, path));
    await writer(inputFor('/w', payload), contextFor());
    expect(told).toEqual([
      ['/w', ['src/a.ts']],
      ['/w', ['b']],
    ]);
  });

  verifies('W-49').test(
    'the first failed write stops the loop and is told with what was written and what not',
    async () => {
      const { calls, openDir } = fakeDir(['b']);
      const payload = ['a', 'b', 'c'].map((path) => code(path, path, path));
      const output = await fileSystemWriter({ openDir })(inputFor('/w', payload), contextFor());
      expect(calls.map(([path]) => path)).toEqual(['/w/a', '/w/b']);
      expect(output).toEqual({
        signal: 'SIGNAL:FAILURE',
        new_payload: [
          ...payload,
          added(1, 'ERROR', {
            code: 'EACCES',
            message: "EACCES: permission denied, open 'b'",
            filePath: 'b',
            written: ['a'],
            notWritten: ['b', 'c'],
          }),
        ],
        stats: { filesWritten: 1 },
      });
    },
  );
});

describe('FileSystemWriter on a real folder', () => {
  verifies('W-48', 'W-51').test('makes parents, writes byte for byte, and new files are readable to all', async () => {
    const text = 'a\r\nb\u0000\u{1F41F}\n\n';
    const output = await write([code('a', 'deep/er/x.txt', text), doc('b', 'y.txt', '')]);
    expect([output.signal, read('deep/er/x.txt'), read('y.txt'), statSync(join(dir, 'y.txt')).mode & 0o777]).toEqual([
      'SIGNAL:SUCCESS',
      text,
      '',
      0o644,
    ]);
  });

  verifies('W-51').test('keeps the mode of a file that exists', async () => {
    writeFileSync(join(dir, 'run.sh'), 'old');
    chmodSync(join(dir, 'run.sh'), 0o755);
    await write([code('a', 'run.sh', 'new')]);
    expect([read('run.sh'), statSync(join(dir, 'run.sh')).mode & 0o777]).toEqual(['new', 0o755]);
  });

  verifies('W-48').test('nothing to write is SUCCESS with 0 files', async () => {
    expect(await write([segment('x', 'AGENT_OUTPUT', 'done')])).toMatchObject({
      signal: 'SIGNAL:SUCCESS',
      stats: { filesWritten: 0, linesWritten: 0 },
      applied: [],
    });
  });

  const outside = [
    '/etc/x',
    '../x',
    'a/../../x',
    'a\u0000b',
    '.git/config',
    'sub/.GIT/hooks/x',
    '.Git',
    'link/x',
    'leaf',
    '',
    '.',
    'dangling',
  ];
  for (const path of outside) {
    verifies('W-47', 'X-40').test(`${JSON.stringify(path)} is refused before anything is written`, async () => {
      const other = temporaryFolder();
      symlinkSync(other, join(dir, 'link'));
      writeFileSync(join(other, 'secret'), 'secret');
      symlinkSync(join(other, 'secret'), join(dir, 'leaf'));
      symlinkSync(join(other, 'nothing'), join(dir, 'dangling'));
      const output = await write([code('good', 'good.txt', 'x'), code('bad', path, 'evil')]);
      const error = output.new_payload.at(-1)?.content as { [key: string]: Json };
      expect([
        output.signal,
        error.code,
        existsSync(join(dir, 'good.txt')),
        readFileSync(join(other, 'secret'), 'utf8'),
      ]).toEqual(['SIGNAL:FAILURE', 'path_outside_worktree', false, 'secret']);
    });
  }

  verifies('W-47').test('a link to a file inside is replaced, not followed', async () => {
    writeFileSync(join(dir, 'real.txt'), 'kept');
    symlinkSync('real.txt', join(dir, 'alias.txt'));
    const output = await write([code('a', 'alias.txt', 'new')]);
    expect([output.signal, read('alias.txt'), read('real.txt')]).toEqual(['SIGNAL:SUCCESS', 'new', 'kept']);
  });

  verifies('W-47', 'X-40').test('whatever the path, nothing outside the worktree is touched', async () => {
    const parts = fc.constantFrom('a', '..', '.', '', '.git', 'link', '.GIT', 'b.txt', '\u200b.git', '~', 'C:');
    const other = temporaryFolder();
    symlinkSync(other, join(dir, 'link'));
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { maxLength: 5 }), async (path) => {
        await write([code('a', path.join('/'), 'x')]);
        return !existsSync(join(other, 'a')) && !existsSync(join(other, 'b.txt')) && !existsSync(join(dir, '.git'));
      }),
      { numRuns: 150 },
    );
  });

  verifies('W-49').test('a real write error is FAILURE with its code', async () => {
    mkdirSync(join(dir, 'taken'));
    writeFileSync(join(dir, 'taken/file'), 'in the way');
    const output = await write([code('a', 'first', '1'), code('b', 'taken', '2'), code('c', 'last', '3')]);
    expect([output.signal, existsSync(join(dir, 'last'))]).toEqual(['SIGNAL:FAILURE', false]);
    expect(output.new_payload.at(-1)?.content).toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/),
      written: ['first'],
      notWritten: ['taken', 'last'],
    });
  });

  verifies('W-52').test('a segment applied before is not applied again', async () => {
    writeFileSync(join(dir, 'a.ts'), 'the later fix');
    const output = await write([code('old', 'a.ts', 'the first try')], ['old']);
    expect([read('a.ts'), output.applied]).toEqual(['the later fix', []]);
  });

  verifies('W-77').test('a repeat after a crash changes no byte and no time', async () => {
    const payload = [code('a', 'a.ts', 'one'), code('b', 'a.ts', 'two'), code('c', 'c.ts', 'three')];
    await write(payload);
    const past = new Date('2020-01-01T00:00:00Z');
    for (const path of ['a.ts', 'c.ts']) utimesSync(join(dir, path), past, past);
    await write(payload);
    expect(['a.ts', 'c.ts'].map((path) => [read(path), statSync(join(dir, path)).mtime])).toEqual([
      ['two', past],
      ['three', past],
    ]);
  });

  const contents: [what: string, content: Json, filePath: string | undefined, written: string | null][] = [
    ['the JSON of a file', JSON.stringify({ filePath: 'f.txt', fileContent: 'x\n' }), undefined, 'x\n'],
    ['one fenced block', 'Here it is:\n```ts\nconst a = 1;\n```\nEnjoy!', 'f.txt', 'const a = 1;\n'],
    ['a fence within a longer one', '````md\n```ts\nx\n```\n````\n', 'f.txt', '```ts\nx\n```\n'],
    ['a fence of tildes', '~~~\nx\n~~~', 'f.txt', 'x\n'],
    ['an empty block', '```\n```', 'f.txt', ''],
    ['two blocks', '```\na\n```\n```\nb\n```', 'f.txt', null],
    ['no block', 'const a = 1;', 'f.txt', null],
    ['an open block', '```\nconst a = 1;', 'f.txt', null],
    ['no path', '```\na\n```', undefined, null],
    ['a number', 7, 'f.txt', null],
    ['an object of another kind', { path: 'f.txt' }, 'f.txt', null],
    ['a list', [], 'f.txt', null],
  ];
  for (const [what, content, filePath, written] of contents) {
    verifies('W-51').test(`${what} is ${written === null ? 'ambiguous' : 'written'}`, async () => {
      const output = await write([
        { ...segment('a', 'CODE_OUTPUT', content), ...(filePath !== undefined && { filePath }) },
      ]);
      const error = output.new_payload[1]?.content as { [key: string]: Json } | undefined;
      expect([output.signal, error?.code, existsSync(join(dir, 'f.txt')) ? read('f.txt') : null]).toEqual(
        written === null ? ['SIGNAL:FAILURE', 'ambiguous_content', null] : ['SIGNAL:SUCCESS', undefined, written],
      );
    });
  }
});

describe('UpdateChangePlan', () => {
  function plans(fails = false) {
    const calls: [files: string[], worktree: string][] = [];
    return {
      calls,
      async addToChangePlan(files: string[], worktree: string) {
        await new Promise((resolve) => setImmediate(resolve));
        if (fails) throw new Error('the store is gone');
        calls.push([files, worktree]);
      },
    };
  }
  const update = (manager: ReturnType<typeof plans>, payload: Parameters<typeof inputFor>[1], applied: string[] = []) =>
    updateChangePlan({ worktrees: manager })(inputFor(dir, payload), contextFor({}, applied));

  verifies('W-53', 'W-54', 'W-55', 'W-50').test(
    'hands the manager exactly the list of the segment, awaits it, and is SUCCESS',
    async () => {
      const manager = plans();
      const payload = [
        segment('x', 'AGENT_OUTPUT', 'found some'),
        segment('n', 'NEW_FILES_IDENTIFIED', ['src/b.ts', 'src/a.ts', 'docs/**']),
      ];
      const output = await update(manager, payload);
      expect(manager.calls).toEqual([[['src/b.ts', 'src/a.ts', 'docs/**'], 'w1']]);
      expect(output).toEqual({ signal: 'SIGNAL:SUCCESS', new_payload: payload, applied: ['n'] });
    },
  );

  verifies('W-55').test('no segment is an empty list', async () => {
    const manager = plans();
    const output = await update(manager, []);
    expect([output.signal, manager.calls]).toEqual(['SIGNAL:SUCCESS', [[[], 'w1']]]);
  });

  verifies('W-55').test('refused paths go to an ERROR segment, the others to the plan', async () => {
    const manager = plans();
    const output = await update(manager, [segment('n', 'NEW_FILES_IDENTIFIED', ['ok.ts', '../x', 3, ''])]);
    expect([output.signal, manager.calls]).toEqual(['SIGNAL:SUCCESS', [[['ok.ts'], 'w1']]]);
    expect(output.new_payload[1]?.content).toMatchObject({
      refused: [
        { path: '../x', why: 'contains ".."' },
        { path: 3, why: 'is not a path' },
        { path: '', why: 'is not a path' },
      ],
    });
  });

  verifies('W-55').test('a manager that throws is no signal: the worker throws', async () => {
    await expect(update(plans(true), [])).rejects.toThrow('the store is gone');
  });

  verifies('W-77').test('a segment in the plan is not handed over again', async () => {
    const manager = plans();
    const payload = [segment('a', 'NEW_FILES_IDENTIFIED', ['a']), segment('b', 'NEW_FILES_IDENTIFIED', ['b'])];
    const output = await update(manager, payload, ['a']);
    expect([manager.calls, output.applied]).toEqual([[[['b'], 'w1']], ['b']]);
  });

  test('content that is one path counts as a list of one', async () => {
    const manager = plans();
    await update(manager, [segment('a', 'NEW_FILES_IDENTIFIED', 'a.ts')]);
    expect(manager.calls).toEqual([[['a.ts'], 'w1']]);
  });
});
