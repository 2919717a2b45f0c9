import { statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { makeRepository } from '../../../../test/support/repository.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { FactStore } from '../store/fact-store.ts';
import { keptDigests } from './languages.ts';

verifies('C-020', 'C-121').test('a file is hashed once for all servers, and again when it is another', () => {
  const { root } = makeRepository({});
  const file = join(root, 'grammar.wasm');
  const store = new FactStore(join(root, 'index/code.db'));
  onTestFinished(() => store.close());
  const write = vi.spyOn(store, 'write');
  const digest = () => Buffer.from(keptDigests(store)(file)).toString('hex');
  writeFileSync(file, 'one');
  const one = digest();
  expect([digest(), write.mock.calls.length]).toEqual([one, 1]);
  const { atime, mtime } = statSync(file);
  writeFileSync(file, 'two');
  utimesSync(file, atime, mtime); // of the same size and time
  expect(digest()).not.toBe(one);
  expect(write.mock.calls.length).toBe(2);
});
