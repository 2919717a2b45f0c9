import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commands, folder } from '../../../test/support/engine/workbench.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { createInput, type InputDeps, parseFileLine, type Source } from './input.ts';

const path = (name: string): Source => ({ kind: 'path', path: name });

describe('a line of files', () => {
  test('names paths, addresses, loaders, commands and the last reply, then words', () => {
    expect(
      parseFileLine(
        'a.txt dir/ "with blank.md" esc\\ aped https://x.y/z git:main `git diff --stat` %% -- what -- changed?',
      ),
    ).toEqual({
      sources: [
        path('a.txt'),
        path('dir/'),
        path('with blank.md'),
        path('esc aped'),
        path('https://x.y/z'),
        path('git:main'),
        { kind: 'command', command: 'git diff --stat' },
        { kind: 'last_reply' },
      ],
      text: 'what -- changed?',
    });
    expect([parseFileLine(''), parseFileLine('-- only words'), parseFileLine('a --')]).toEqual([
      { sources: [], text: '' },
      { sources: [], text: 'only words' },
      { sources: [path('a')], text: '' },
    ]);
  });

  test('with an open quote is refused', () => {
    expect(() => parseFileLine('"open')).toThrow('A " is not closed');
  });
});

describe('an input', () => {
  const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

  async function open(files: Record<string, string>, more: Partial<InputDeps> = {}) {
    const cwd = folder(files);
    const loaded: string[] = [];
    const parts: InputDeps = {
      cwd,
      home: cwd,
      shell: '/bin/sh',
      run: await commands(),
      load: async (source) => {
        loaded.push(source);
        return [{ source, text: 'loaded' }];
      },
      loaders: ['pdf', 'git'],
      signal: new AbortController().signal,
      ...more,
    };
    const ask = (line: string) => {
      const { sources, text } = parseFileLine(line);
      return createInput(text, sources, parts).then(
        ({ content }) => content.map((part) => (part.type === 'text' ? part.text : part)),
        (error: unknown) => (error instanceof ReefError ? `! ${error.message}` : error),
      );
    };
    return { cwd, ask, loaded };
  }
  const head = (name: string) => `============ PATH: ${name} ============`;

  test('has the words first, then each text under its name', async () => {
    const { ask } = await open(
      { 'a.txt': 'alpha', 'd/b.txt': 'beta', 'd/x.bin': 'b\0n', 'd/node_modules/m.js': 'no' },
      { lastReply: 'I said so.' },
    );
    expect(await ask('a.txt d %% `echo hi` -- Compare.')).toEqual([
      `Compare.\n\n${head('a.txt')}\nalpha\n\n${head('d/b.txt')}\nbeta\n\nI said so.\n\n${head('`echo hi`')}\nhi\n`,
    ]);
    expect(await ask('~/a.txt')).toEqual([`${head('a.txt')}\nalpha`]);
    expect(await ask('d/*.txt')).toEqual([`${head('d/b.txt')}\nbeta`]);
    expect(await ask('**/*.txt')).toEqual([`${head('a.txt')}\nalpha\n\n${head('d/b.txt')}\nbeta`]);
  });

  test('has pictures as they are', async () => {
    const { ask, cwd } = await open({ 'a.txt': 'alpha' });
    writeFileSync(join(cwd, 'p.png'), PNG);
    expect(await ask('p.png -- What is this?')).toEqual([
      'What is this?',
      { type: 'file', mediaType: 'image/png', data: PNG.toString('base64'), name: 'p.png' },
    ]);
  });

  test('leaves addresses, named loaders and documents to their loaders', async () => {
    const { ask, loaded, cwd } = await open({ 'doc.pdf': '%PDF' });
    expect(await ask('https://x.y git:main doc.pdf')).toEqual([
      [head('https://x.y'), 'loaded', '', head('git:main'), 'loaded', '', head(join(cwd, 'doc.pdf')), 'loaded'].join(
        '\n',
      ),
    ]);
    expect(loaded).toEqual(['https://x.y', 'git:main', join(cwd, 'doc.pdf')]);
  });

  verifies('X-68').test('takes no more than fits, from files, devices and whole folders', async () => {
    const { ask, cwd } = await open({ 'd/a.txt': 'alpha', 'd/large.bin': 'b\0n', 'large.txt': '', 'p.png': '' });
    truncateSync(join(cwd, 'd/large.bin'), 2 ** 30);
    truncateSync(join(cwd, 'p.png'), 2 ** 30);
    writeFileSync(join(cwd, 'large.txt'), 'a'.repeat(2 ** 23 + 1));
    expect([await ask('large.txt'), await ask('p.png'), await ask('/dev/zero'), await ask('d')]).toEqual([
      '! large.txt is larger than 8388608 bytes, the most that is sent',
      '! p.png is larger than 16777216 bytes, the most that is sent',
      '! /dev/zero is larger than 8388608 bytes, the most that is sent',
      [`${head('d/a.txt')}\nalpha`],
    ]);
  });

  test('says what it cannot read', async () => {
    const { ask } = await open({ 'x.bin': 'b\0n', 'empty/.keep': '' });
    expect([
      await ask('none.txt'),
      await ask('x.bin'),
      await ask('%%'),
      await ask('`exit 3`'),
      await ask('*.zzz'),
    ]).toEqual([
      '! none.txt does not exist',
      '! x.bin is not text, and no loader is configured for .bin',
      '! There is no reply yet: %% stands for the last one',
      '! `exit 3` failed: exit code 3',
      expect.stringContaining('has no file to read'),
    ]);
  });
});
