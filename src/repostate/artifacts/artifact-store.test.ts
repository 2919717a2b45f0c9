import { appendFileSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createRedactor } from '../../base/redact.ts';
import { artifactId } from '../prompt/caps.ts';
import { type ArtifactStore, createArtifactStore, pruneArtifacts } from './artifact-store.ts';

const storeOf = (dir: string, rootId = 'tree-1', jobId = 'j-1') =>
  createArtifactStore({ dir, rootId, jobId, redact: createRedactor(['hunter2-hunter2']) });

async function readAll(store: ArtifactStore, id: string, options: { limit?: number; grep?: string }): Promise<string> {
  let text = '';
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page: { text: string; nextOffset?: number } = await store.read(id, { ...options, offset });
    expect(page.text.length).toBeLessThanOrEqual(options.limit ?? 6_000);
    text += page.text;
    offset = page.nextOffset;
  }
  return text;
}

verifies('S-38').test('pages join to the stored text, whatever their size', async () => {
  const store = storeOf(temporaryFolder());
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '😀', '日', ' line '), maxLength: 400 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 2, max: 90 }), async (whole, limit) => {
      const id = artifactId(whole);
      await store.put(whole, { jobId: 'j-1' });
      expect(await readAll(store, id, { limit })).toBe(whole);
    }),
    { numRuns: 60 },
  );
  const long = 'word '.repeat(9_000);
  await store.put(long, { jobId: 'j-1' });
  expect(await readAll(store, artifactId(long), {})).toBe(long);
});

verifies('S-38').test('only lines that match are given, with their numbers, in pages too', async () => {
  const store = storeOf(temporaryFolder());
  const text = Array.from({ length: 500 }, (_, n) => (n % 3 === 0 ? `error ${n}` : `fine ${n}`)).join('\n');
  const id = artifactId(text);
  await store.put(text, { jobId: 'j-1' });
  const matched = text.split('\n').flatMap((line, n) => (line.includes('error') ? [`${n + 1}: ${line}`] : []));
  expect(await readAll(store, id, { grep: 'error', limit: 100 })).toBe(matched.join('\n'));
});

verifies('S-37', 'S-38').test(
  'turns have names, also those of another job of the tree, and a restart finds them',
  async () => {
    const dir = temporaryFolder();
    const first = storeOf(dir);
    const second = storeOf(dir, 'tree-1', 'j-2');
    await first.put('turn of one', { jobId: 'j-1', name: 't0' });
    await second.put('turn of two', { jobId: 'j-2', name: 't0' });
    appendFileSync(join(dir, 'trees', 'tree-1.jsonl'), '{"job":"j-1","na');
    const again = storeOf(dir);
    const texts = await Promise.all(['t0', 'j-1/t0', 'j-2/t0'].map(async (id) => (await again.read(id)).text));
    expect(texts).toEqual(['turn of one', 'turn of one', 'turn of two']);
  },
);

verifies('S-38').test('what is unknown is not found; what is of another tree is out of scope', async () => {
  const dir = temporaryFolder();
  const theirs = storeOf(dir, 'tree-2', 'j-9');
  await theirs.put('their secret plan', { jobId: 'j-9', name: 't0' });
  const ours = storeOf(dir);
  for (const id of ['t0', 't99', 'a:0000000', 'nonsense', '../../etc/passwd']) {
    await expect(ours.read(id)).rejects.toMatchObject({ code: 'artifact_not_found', details: { id } });
  }
  for (const id of ['j-9/t0', artifactId('their secret plan')]) {
    await expect(ours.read(id)).rejects.toMatchObject({ code: 'not_in_scope', details: { id } });
  }
});

verifies('S-37').test('secrets are not stored', async () => {
  const store = storeOf(temporaryFolder());
  const text = 'password hunter2-hunter2 here';
  await store.put(text, { jobId: 'j-1', name: 't0' });
  expect((await store.read(artifactId(text))).text).toBe('password [redacted] here');
});

verifies('S-38').test(
  'old trees go after a week, then the oldest finished beyond the limit, an active one never',
  async () => {
    const dir = temporaryFolder();
    const now = new Date('2026-03-10T00:00:00Z');
    const days: Record<string, string> = { old: '01', week: '05', fresh: '09', live: '01' };
    const long = new Date('2026-01-01');
    for (const [tree, day] of Object.entries(days)) {
      const store = storeOf(dir, tree);
      await store.put(tree.padEnd(1_000, '.'), { jobId: tree });
      await store.put('shared by all', { jobId: tree });
      const last = new Date(`2026-03-${day}T00:00:00Z`);
      utimesSync(join(dir, 'trees', `${tree}.jsonl`), last, last);
    }
    for (const name of readdirSync(dir)) if (name !== 'trees') utimesSync(join(dir, name), long, long);
    writeFileSync(join(dir, 'f'.repeat(64)), 'about to be named');
    utimesSync(join(dir, 'f'.repeat(64)), now, now);
    const isActive = (tree: string) => tree === 'live';
    const byAge = await pruneArtifacts({ dir, now, isActive });
    const bySize = await pruneArtifacts({ dir, now, isActive, maxBytes: 1_500 });
    const none = await pruneArtifacts({ dir, now, isActive, maxBytes: 0 });
    expect([byAge, bySize, none]).toEqual([
      { trees: ['old'], files: 1 },
      { trees: ['week', 'fresh'], files: 2 },
      { trees: [], files: 0 },
    ]);
    expect(readdirSync(join(dir, 'trees'))).toEqual(['live.jsonl']);
    expect((await storeOf(dir, 'live').read(artifactId('shared by all'))).text).toBe('shared by all');
    expect(await pruneArtifacts({ dir, now, isActive: () => false })).toEqual({ trees: ['live'], files: 2 });
  },
);
