import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, folder } from '../../../../test/support/engine/workbench.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { createPermissionGate } from '../../permissions/gate.ts';
import { readingTools } from './fs-read.ts';
import { searchingTools } from './fs-search.ts';
import { writingTools } from './fs-write.ts';
import { createLocations } from './location.ts';
import { applyPatch } from './patch.ts';

const toolsOf = (readable: string[] = []) => {
  const places = createLocations(readable);
  return [...readingTools(places), ...searchingTools(places), ...writingTools(places)];
};
const open = (files: Record<string, string>, readable: string[] = []) => {
  const dir = folder(files);
  return { dir, ...bench(toolsOf(readable), dir) };
};

describe('the tools for files', () => {
  verifies('R-90').test('have the names and arguments of the seed', () => {
    const shape = toolsOf().map(({ name, effect, parameters }) => [
      name,
      effect,
      Object.keys(parameters.properties as object),
      parameters.required,
    ]);
    expect(shape).toEqual([
      ['fs_cat', 'read', ['path'], ['path']],
      ['fs_read', 'read', ['path', 'offset', 'limit'], ['path']],
      ['fs_ls', 'read', ['path'], undefined],
      ['fs_glob', 'read', ['pattern', 'path'], ['pattern']],
      ['fs_grep', 'read', ['pattern', 'path', 'include'], ['pattern']],
      ['fs_write', 'write', ['path', 'contents'], ['path', 'contents']],
      ['fs_patch', 'write', ['path', 'contents'], ['path', 'contents']],
      ['fs_mkdir', 'write', ['path'], ['path']],
      ['fs_rm', 'write', ['path'], ['path']],
    ]);
  });

  verifies('R-90').test('read whole files and pieces of them', async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n + 1}`).join('\n');
    const { use } = open({ 'a.txt': 'one\ntwo\n', 'long.txt': lines, 'wide.txt': 'x'.repeat(3_000) });
    expect(await use('fs_cat', { path: 'a.txt' })).toBe('one\ntwo\n');
    expect(await use('fs_read', { path: 'a.txt' })).toBe('1\tone\n2\ttwo');
    expect(await use('fs_read', { path: 'long.txt', offset: 2_999 })).toBe('2999\tline 2999\n3000\tline 3000');
    expect(await use('fs_read', { path: 'long.txt', limit: 1 })).toBe(
      '1\tline 1\n(lines 1 to 1 of 3000; go on with offset 2)',
    );
    expect(String(await use('fs_read', { path: 'long.txt' })).split('\n')).toHaveLength(2_001);
    expect(await use('fs_read', { path: 'a.txt', offset: 9 })).toBe('(the file has 2 lines)');
    expect(await use('fs_read', { path: 'wide.txt' })).toBe(`1\t${'x'.repeat(2_000)}… (3000 characters)`);
  });

  verifies('R-90').test('list, make and remove', async () => {
    const { dir, use } = open({ 'a/b/c.txt': 'c', 'a/d.txt': 'd' });
    expect(await use('fs_ls', { path: 'a' })).toBe('b/\nd.txt');
    expect(await use('fs_mkdir', { path: 'x/y/z' })).toBe(null);
    expect([await use('fs_ls', { path: 'x/y' }), await use('fs_ls', { path: 'x/y/z' })]).toEqual(['z/', '(empty)']);
    expect(await use('fs_rm', { path: 'a' })).toBe('removed 4 entries');
    expect([existsSync(join(dir, 'a')), await use('fs_rm', { path: 'a' })]).toEqual([false, '! a does not exist']);
  });

  verifies('R-90').test('write and patch, keeping the mode of a file', async () => {
    const { dir, use } = open({ 'run.sh': 'echo one\necho two\n' });
    writeFileSync(join(dir, 'run.sh'), 'echo one\necho two\n', { mode: 0o755 });
    const mode = statSync(join(dir, 'run.sh')).mode;
    expect(await use('fs_write', { path: 'new/n.txt', contents: 'hé' })).toBe('wrote 3 bytes to new/n.txt');
    expect([readFileSync(join(dir, 'new/n.txt'), 'utf8'), statSync(join(dir, 'new/n.txt')).mode & 0o777]).toEqual([
      'hé',
      0o644,
    ]);
    const contents = '--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,3 @@\n echo one\n-echo two\n+echo 2\n+echo 3\n';
    expect(await use('fs_patch', { path: 'run.sh', contents })).toBe('changed 1 place of run.sh');
    expect([readFileSync(join(dir, 'run.sh'), 'utf8'), statSync(join(dir, 'run.sh')).mode]).toEqual([
      'echo one\necho 2\necho 3\n',
      mode,
    ]);
  });

  verifies('R-90').test('find files by pattern and lines by expression', async () => {
    const { dir, use } = open({
      'src/a.ts': 'const a = 1;\nconst b = 2;\n',
      'src/deep/b.ts': 'const b = 3;\n',
      'src/c.js': 'const b = 4;\n',
      'node_modules/m/x.ts': 'const b = 5;\n',
      '.git/x.ts': 'const b = 6;\n',
      'bin.ts': 'const b\0 = 7;\n',
    });
    symlinkSync('/etc', join(dir, 'link'));
    expect(await use('fs_glob', { pattern: '**/*.ts' })).toBe('bin.ts\nsrc/a.ts\nsrc/deep/b.ts');
    expect(await use('fs_glob', { pattern: '*.{ts,js}', path: 'src' })).toBe('a.ts\nc.js');
    expect(await use('fs_glob', { pattern: 'node_modules/**/*.ts' })).toBe('node_modules/m/x.ts');
    expect(await use('fs_glob', { pattern: '*.py' })).toBe('(no file)');
    expect(await use('fs_grep', { pattern: 'const \\bb = \\d' })).toBe(
      'src/a.ts:2: const b = 2;\nsrc/c.js:1: const b = 4;\nsrc/deep/b.ts:1: const b = 3;',
    );
    expect(await use('fs_grep', { pattern: 'const', include: '*.js' })).toBe('src/c.js:1: const b = 4;');
    expect(await use('fs_grep', { pattern: 'b', path: 'src/deep/b.ts' })).toBe('src/deep/b.ts:1: const b = 3;');
    expect(await use('fs_grep', { pattern: 'nothing' })).toBe('(no line)');
    expect(await use('fs_grep', { pattern: '(' })).toContain('! The pattern is not a regular expression');
  });

  verifies('R-90').test('say when there is more than they show', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_100 }, (_, n) => [`f/${n}.txt`, 'hit\n']));
    const { use } = open(many);
    const files = String(await use('fs_glob', { pattern: 'f/*.txt' })).split('\n');
    const lines = String(await use('fs_grep', { pattern: 'hit' })).split('\n');
    expect([files.length, files.at(-1), lines.length, lines.at(-1)]).toEqual([
      1_001,
      '(more than 1000; narrow the pattern)',
      501,
      '(there are more; narrow the pattern)',
    ]);
  });

  verifies('R-90').test('end a search whose expression would never end, and let others work meanwhile', async () => {
    const { context, find } = open({ 'evil.txt': `${'a'.repeat(60)}b` });
    const abort = new AbortController();
    const search = find('fs_grep').run({ pattern: '^(a+)+$' }, { ...context, signal: abort.signal });
    const settled = search.then(
      () => 'found',
      (error: Error) => error.message,
    );
    // Half a second of ticks: the loop is free while the thread is stuck.
    for (let n = 0; n < 10; n++) await new Promise((resolve) => setTimeout(resolve, 20));
    abort.abort();
    expect(await settled).toBe('The search was cancelled');
  });

  verifies('R-90').test('say what is wrong in words', async () => {
    const { use } = open({ 'a.txt': '' });
    expect([
      await use('fs_cat', { path: 'none' }),
      await use('fs_ls', { path: 'a.txt/x' }),
      await use('fs_cat', { path: '.' }),
      await use('fs_cat', {}),
      await use('fs_read', { path: 'a.txt', offset: 0 }),
      await use('fs_cat', 'text'),
    ]).toEqual([
      '! none does not exist',
      expect.stringContaining('! The path "a.txt/x"'),
      expect.stringContaining('!'),
      expect.stringContaining('! The arguments of fs_cat do not fit: path:'),
      expect.stringContaining('! The arguments of fs_read do not fit: offset:'),
      expect.stringContaining('! The arguments of fs_cat do not fit'),
    ]);
  });
});

describe('a path outside the working directory', () => {
  verifies('R-90').test('is seen in every disguise of words', () => {
    const { dir, find } = open({ 'in.txt': '' });
    const claims = (path: string) => find('fs_cat').claims?.({ path }, dir);
    const outside = (path: string) => ({ subject: path, outside: [path] });
    expect(['in.txt', './a/../in.txt', `${dir}/in.txt`, '.', '..a'].map(claims)).toEqual([
      { subject: 'in.txt' },
      { subject: 'in.txt' },
      { subject: 'in.txt' },
      { subject: '.' },
      { subject: '..a' },
    ]);
    expect([claims('/etc/hosts'), claims('../../../../../../../../etc/hosts'), claims(`${dir}-evil/x`)]).toEqual([
      outside('/etc/hosts'),
      outside('/etc/hosts'),
      outside(`${dir}-evil/x`),
    ]);
  });

  verifies('R-90', 'R-93').test('is read only after a person allowed it', async () => {
    const other = folder({ 'secret.txt': 'secret' });
    const dir = folder();
    const gate = createPermissionGate({ rules: [] });
    const { find, context, asked } = bench(
      toolsOf(),
      dir,
      { kind: 'permission', decision: 'deny' },
      { kind: 'permission', decision: 'allow_once' },
    );
    const path = join(other, 'secret.txt');
    const read = async () => {
      await gate.pass(find('fs_cat'), { path }, context);
      return find('fs_cat').run({ path }, context);
    };
    await expect(read()).rejects.toMatchObject({ code: 'permission_denied' });
    expect([await read(), asked.length, asked[0]]).toEqual([
      'secret',
      2,
      expect.objectContaining({ kind: 'permission', reasons: [`${path} is outside the working directory`] }),
    ]);
  });

  verifies('R-90').test('is not reached through a link, and neither are the files of git', async () => {
    const { dir, use } = open({ '.git/config': 'x' });
    symlinkSync('/etc', join(dir, 'link'));
    symlinkSync('/etc/hosts', join(dir, 'hosts'));
    const answers = [
      await use('fs_cat', { path: 'link/hosts' }),
      await use('fs_cat', { path: 'hosts' }),
      await use('fs_write', { path: 'link/x', contents: '' }),
      await use('fs_cat', { path: '.git/config' }),
      await use('fs_cat', { path: 'a\0b' }),
    ];
    expect(answers.map((answer) => String(answer).startsWith('! '))).toEqual([true, true, true, true, true]);
    expect(readFileSync(join(dir, '.git/config'), 'utf8')).toBe('x');
  });

  test('is no question when it is a folder of ours', async () => {
    const outputs = folder({ 'long.txt': 'rest' });
    const { find, use, context } = open({}, [outputs]);
    const path = join(outputs, 'long.txt');
    expect([find('fs_cat').claims?.({ path }, context.cwd), await use('fs_cat', { path })]).toEqual([
      { subject: 'long.txt' },
      'rest',
    ]);
  });
});

describe('a patch', () => {
  const text = 'a\nb\nc\na\nb\nd\n';
  const refusal = (diff: string) => {
    try {
      return applyPatch(text, diff);
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('is applied where its lines are, whatever number it names', () => {
    expect(applyPatch(text, '@@ -99 +99 @@\n b\n-c\n+C\n').text).toBe('a\nb\nC\na\nb\nd\n');
    expect(applyPatch(text, '@@ -4,2 +4,2 @@\n a\n-b\n+B\n').text).toBe('a\nb\nc\na\nB\nd\n');
    expect(applyPatch(text, '@@\n-c\n@@\n b\n d\n+e\n').text).toBe('a\nb\na\nb\nd\ne\n');
    expect(applyPatch(text, '@@ -0,0 +1 @@\n+first\n').text).toBe(`first\n${text}`);
    expect(applyPatch(text, '@@ -1,1 +1,2 @@\n+x\n a\n@@ -4,2 +5,1 @@\n a\n-b\n').text).toBe('x\na\nb\nc\na\nd\n');
  });

  test('that fits nowhere, or in two places, changes nothing', () => {
    expect(refusal('@@ -9 @@\n-zzz\n')).toContain('the lines of hunk 1 are nowhere in the file');
    expect(refusal('@@ -9 @@\n a\n-b\n')).toContain('the lines of hunk 1 are in the file 2 times');
    expect(refusal('hello')).toContain('it has no hunk');
    expect(refusal('@@\nodd\n')).toContain('begins with neither');
  });
});
