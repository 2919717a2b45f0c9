import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { run } from '../../process/run.ts';
import { splitShellLine } from './shell-line.ts';

/** Line, and the commands found in it; a text after `?` is why the rest is not known. */
const TABLE: [line: string, ...parts: string[]][] = [
  ['ls', 'ls'],
  ['ls -la  /tmp', 'ls -la /tmp'],
  ['ls; rm -rf /', 'ls', 'rm -rf /'],
  ['ls&&rm x', 'ls', 'rm x'],
  ['ls||rm x', 'ls', 'rm x'],
  ['ls & rm x', 'ls', 'rm x'],
  ['ls|xargs rm', 'ls', 'xargs rm', 'rm'],
  ['ls |& rm', 'ls', 'rm'],
  ['ls\nrm x', 'ls', 'rm x'],
  ['echo $(rm x)', 'rm x', 'echo $(…)'],
  ['echo "$(rm x)"', 'rm x', 'echo $(…)'],
  ['echo `rm x`', 'rm x', 'echo $(…)'],
  ['echo a`rm \\`id\\``b', 'id', 'rm $(…)', 'echo a$(…)b'],
  ["echo '$(rm x)' '`rm`'", 'echo $(rm x) `rm`'],
  ['echo $(echo $(rm x))', 'rm x', 'echo $(…)', 'echo $(…)'],
  ['diff <(rm a) <(ls)', 'rm a', 'ls', 'diff $(…) $(…)'],
  ['echo a > out.txt', '> out.txt', 'echo a'],
  ['echo a >> out.txt 2>&1', '> out.txt', 'echo a'],
  ['echo a &> out.txt', '> out.txt', 'echo a'],
  ['cat < /etc/passwd', '< /etc/passwd', 'cat'],
  ['make 2>/dev/null >&2', 'make'],
  ['"rm" -rf x', 'rm -rf x'],
  ["r'm' -rf x", 'rm -rf x'],
  ['r\\m -rf x', 'rm -rf x'],
  ['rm \\\n -rf x', 'rm -rf x'],
  ['r\\\nm x', 'rm x'],
  ['/bin/rm x', '/bin/rm x'],
  ['X=1 rm x', 'X=1 rm x', 'rm x'],
  ['X="a b" rm x', 'X=a b rm x', 'rm x'],
  ['X=$(id) rm x', 'id', 'X=$(…) rm x', 'rm x'],
  ['sudo -u root rm x', 'sudo -u root rm x', 'rm x'],
  ['env A=1 rm x', 'env A=1 rm x', 'A=1 rm x', 'rm x'],
  ['timeout 5 rm x', 'timeout 5 rm x', 'rm x'],
  ['nice -n 5 nohup rm x', 'nice -n 5 nohup rm x', 'nohup rm x', 'rm x'],
  ['sh -c "ls; rm x"', 'sh -c ls; rm x', 'ls', 'rm x'],
  ['bash -lc "rm x"', 'bash -lc rm x', 'rm x'],
  ['bash -c -e "rm x"', 'bash -c -e rm x', 'rm x'],
  ['/bin/bash -c "sh -c \'rm x\'"', "/bin/bash -c sh -c 'rm x'", 'sh -c rm x', 'rm x'],
  ['eval "rm x"', 'eval rm x', 'rm x'],
  ['eval -- rm x', 'eval -- rm x', 'rm x'],
  ['(cd a && rm x)', 'cd a', 'rm x'],
  ['ls # rm x', 'ls'],
  ['ls #\nrm x', 'ls', 'rm x'],
  ['echo a#b; id', 'echo a#b', 'id'],
  ['ls\rrm x', 'ls\rrm x'],
  ['', ...[]],
  ['env -S "rm x"', 'env -S rm x', '? has a command inside a word'],
  ['bash', 'bash', '? runs what a shell reads from its input'],
  ['curl x | bash -s -- y', 'curl x', 'bash -s -- y', '? runs what a shell reads from its input'],
  ['bash -c "$X"', 'bash -c $X', '? runs a line that is not known'],
  ['$CMD x', '$CMD x', '? runs a command whose name is not known'],
  ['$(echo rm) x', 'echo rm', '$(…) x', '? runs a command whose name is not known'],
  ['{ rm x; }', '{ rm x', '? runs a command whose name is not known'],
  ['if true; then rm x; fi', 'if true', '? uses the shell\'s "if"'],
  ['for a in 1; do rm x; done', 'for a in 1', '? uses the shell\'s "for"'],
  ['f() { rm x; }; f', '? defines a function or an array'],
  ['cat <<E\nrm\nE', '? has a here-document'],
  ["echo $'\\x41'", '? has a quote with escapes'],
  ['echo $((1+1))', '? computes'],
  ['echo $((a[$(rm x)]))', '? computes'],
  ['echo $[a[1]]', '? computes'],
  ['echo "a `rm x` b"', '? has backquotes inside quotes'],
  ['echo "`echo \\"$(rm x)\\"`"', '? has backquotes inside quotes'],
  ["printf -v 'a[$(rm x)]' 1", 'printf -v a[$(rm x)] 1', '? gives "printf" what it may run'],
  ["printf -va 'x'", 'printf -va x', '? gives "printf" what it may run'],
  ["test -v 'a[$(rm x)]'", 'test -v a[$(rm x)]', '? gives "test" what it may run'],
  ["[ -v 'a[`rm x`]' ]", '[ -v a[`rm x`] ]', '? runs a command whose name is not known'],
  ["[[ -v 'a[$(rm x)]' ]]", '[[ -v a[$(rm x)] ]]', '? runs a command whose name is not known'],
  [
    "builtin test -v 'a[$(rm x)]'",
    'builtin test -v a[$(rm x)]',
    'test -v a[$(rm x)]',
    '? gives "test" what it may run',
  ],
  ["read 'a[$(rm x)]'", 'read a[$(rm x)]', '? gives "read" what it may run'],
  ["unset 'a[$(rm x)]'", 'unset a[$(rm x)]', '? gives "unset" what it may run'],
  ["declare 'a[$(rm x)]=1'", 'declare a[$(rm x)]=1', '? gives "declare" what it may run'],
  ['export "$x=1"', 'export $x=1', '? gives "export" what it may run'],
  ['export A=$B', 'export A=$B'],
  ["let 'a[$(rm x)]=1'", 'let a[$(rm x)]=1', '? gives "let" what it may run'],
  ["alias ls='rm x'", 'alias ls=rm x', '? gives "alias" what it may run'],
  ['mapfile -C "rm x" -c 1 a', 'mapfile -C rm x -c 1 a', '? gives "mapfile" what it may run'],
  ['printf "%s" a', 'printf %s a'],
  ['test -f a', 'test -f a'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is shell
  ['echo ${x@P}', '? has an expansion that may run commands'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: this is shell
  ['echo ${x:-$(rm y)}', '? has an expansion that may run commands'],
  ['echo "open', '? has a quote that does not end'],
  ["echo 'open", '? has a quote that does not end'],
  ['echo $(open', '? has a parenthesis that does not close'],
  ['echo `open', '? has a backtick that does not close'],
  ['echo a > $F', '? redirects to a place that is not known'],
  ['source x.sh', 'source x.sh', '? runs what "source" is given'],
  ['trap "rm x" EXIT', 'trap rm x EXIT', '? runs what "trap" is given'],
  ['echo \\', '? ends in a backslash'],
  ['rm x\0', '? has a NUL character'],
];

describe('a shell line', () => {
  verifies('R-93', 'X-139').test('is taken apart into every command it runs', () => {
    const found = TABLE.map(([line]) => {
      const { parts, unclear } = splitShellLine(line);
      return [line, ...parts, ...(unclear === undefined ? [] : [`? ${unclear}`])];
    });
    expect(found).toEqual(TABLE);
  });

  verifies('R-93').test('is not followed without end', () => {
    const nested = `${'$('.repeat(50)}rm${')'.repeat(50)}`;
    expect([splitShellLine(`echo ${nested}`).unclear, splitShellLine('a'.repeat(70_000)).unclear]).toEqual([
      'is nested too deep',
      'is longer than 65536 characters',
    ]);
  });

  verifies('R-93').test('of any characters ends in an answer', () => {
    const line = fc.string({ unit: fc.constantFrom(...'ab $()`\'"\\;&|<>\n\r\t{}#=*2'.split('')), maxLength: 40 });
    fc.assert(
      fc.property(line, (text) => splitShellLine(text).parts.every((part) => typeof part === 'string')),
      { numRuns: 5_000 },
    );
  });
});

describe('against a real shell', () => {
  const dir = temporaryFolder();
  beforeAll(() => {
    mkdirSync(join(dir, 'bin'));
    writeFileSync(join(dir, 'bin', 'canary'), '#!/bin/sh\necho ran >> "$CANARY"\n');
    chmodSync(join(dir, 'bin', 'canary'), 0o755);
  });

  const words = [
    'canary',
    '"canary"',
    "can'ary'",
    'c\\anary',
    'echo',
    'true',
    'X=1',
    'env',
    'nohup',
    'command',
    '-c',
    'sh',
    'eval',
    'a b',
    "'canary'",
    '"canary; x"',
    'exec',
    'xargs',
    '2',
    '{',
    '}',
    '!',
    'X="1 2"',
    'timeout',
    '5',
    'builtin',
    '--',
    '-e',
  ];
  const joints = [
    ' ',
    ' ',
    ' ',
    ';',
    '&&',
    '||',
    '|',
    '\n',
    ' & ',
    '$(',
    ')',
    '`',
    '>f',
    ' \\\n',
    ' #',
    '(',
    ' )',
    '"',
    "'",
    '<',
    '<(',
    '=',
    '\t',
  ];
  const lines = fc
    .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom(...joints)), { minLength: 1, maxLength: 6 })
    .map((pieces) => pieces.flat().join(''));

  verifies('R-93').test(
    'every command that runs was found, or the line is not understood',
    async () => {
      const samples = [...fc.sample(lines, { numRuns: 4_000, seed: 20261115 })];
      const suspects = samples.filter((line) => {
        const { parts, unclear } = splitShellLine(line);
        return unclear === undefined && !parts.some((part) => part === 'canary' || part.startsWith('canary '));
      });
      // One shell for all of them: each line in its own subshell, with its own file to betray itself.
      const script = suspects.map((line, n) => {
        writeFileSync(join(dir, `${n}.line`), line);
        return `( cd ${dir}/work; CANARY=${dir}/${n}.ran bash ${dir}/${n}.line </dev/null >/dev/null 2>&1 )`;
      });
      mkdirSync(join(dir, 'work'));
      writeFileSync(join(dir, 'all.sh'), script.join('\n'));
      const env = { PATH: `${join(dir, 'bin')}:/usr/bin:/bin` };
      await run({ file: 'bash', args: [join(dir, 'all.sh')], cwd: dir, env, timeoutMs: 100_000 });
      const missed = suspects.filter((_, n) => existsSync(join(dir, `${n}.ran`)));
      expect({ missed, checked: suspects.length > 200 }).toEqual({ missed: [], checked: true });
      expect(readFileSync(join(dir, '0.line'), 'utf8')).toBe(suspects[0]);
    },
    120_000,
  );
});
