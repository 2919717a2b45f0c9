import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from './parser-pool.ts';

const MIB = 1024 * 1024;
/** Much to read and nothing to keep: one comment to a line. */
const COMMENTS = Buffer.from(`//${'x'.repeat(1_021)}\n`.repeat(1_024));

verifies('C-043').test(
  'as a server has it, a worker is replaced after 64 MiB of source',
  async () => {
    const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
    onTestFinished(() => pool.close());
    expect(COMMENTS.byteLength).toBe(MIB);
    const started: number[] = [];
    for (let mib = 1; mib <= 65; mib++) {
      await pool.extract(COMMENTS, 'javascript');
      started.push(pool.counts.started);
    }
    expect([started.slice(0, 64).every((count) => count === 1), started[64], pool.counts.crashed]).toEqual([
      true,
      2,
      0,
    ]);
  },
  180_000,
);

verifies('C-043').test(
  'as a server has it, a worker whose memory has grown to 96 MiB is replaced, and no other',
  async () => {
    const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
    onTestFinished(() => pool.close());
    const startedAfter = async (statements: number) => {
      const answer = await pool.extract(Buffer.from('a;\n'.repeat(statements)), 'typescript');
      await pool.extract(Buffer.from('a;\n'), 'typescript');
      return ['skipped' in answer, pool.counts.started];
    };
    expect(await startedAfter(10_000)).toEqual([false, 1]);
    expect(await startedAfter(250_000)).toEqual([false, 2]);
    expect(await startedAfter(10_000)).toEqual([false, 2]);
  },
  180_000,
);

const hasStrace = spawnSync('strace', ['-V']).status === 0;

verifies('C-043')
  .needs(hasStrace, 'strace is not installed')
  .test(
    'a grammar is loaded when a file first needs it, once, and no other ever is',
    async () => {
      const repository = makeRepository({ 'src/a.go': 'package a\nfunc A() {}\n', 'notes.md': 'text\n' });
      const trace = join(repository.root, 'trace');
      const client = new ServerClient({
        ...{ worktree: repository.checkout, store: join(repository.root, 'index/code.db') },
        within: ['strace', '-f', '-qq', '-e', 'trace=openat', '-e', 'signal=none', '-o', trace],
      });
      onTestFinished(async () => void (await client.close()));
      const loaded = () =>
        // A call of one thread may be cut in two by that of another.
        [...readFileSync(trace, 'utf8').matchAll(/openat\(.*\/(tree-sitter-[\w-]+)\.wasm"(?!.* = -1)/gm)].map(
          ([, name]) => name,
        );
      await client.call('code_search', { query: 'text' });
      await client.call('index_code', { path: repository.checkout, wait: 'complete' });
      const first = loaded();
      repository.write('src/b.py', 'def b():\n  pass\n');
      await client.call('get_symbol', { name: 'b', require: 'complete' });
      const second = loaded();
      repository.write('src/c.go', 'package a\nfunc C() {}\n');
      await client.call('get_symbol', { name: 'C', require: 'complete' });
      // Its file is read for the version of its facts and to be compiled.
      expect([new Set(first), new Set(second)]).toEqual([
        new Set(['tree-sitter-go']),
        new Set(['tree-sitter-go', 'tree-sitter-python']),
      ]);
      expect([first.length, second.length, loaded()]).toEqual([2, 4, second]);
    },
    120_000,
  );
