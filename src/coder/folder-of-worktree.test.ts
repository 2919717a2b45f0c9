import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makeRepository } from '../../test/support/repository.ts';
import { trackerOn } from '../../test/support/repostate/world.ts';
import { verifies } from '../../test/support/verifies.ts';
import { within } from '../repostate/state/git-view.ts';

verifies('S-02').test('an agent that works in one folder is told about that folder, by paths from there', async () => {
  const repository = makeRepository({ 'packages/a/one.ts': 'one\n', 'packages/b/two.ts': 'two\n' });
  const base = repository.plain('rev-parse', 'HEAD');
  const workDir = join(repository.checkout, 'packages/a');
  const { tracker } = trackerOn(repository, base, { workDir, source: (real) => within(real, 'packages/a') });
  await tracker.refresh('load');
  writeFileSync(join(workDir, 'one.ts'), 'changed\n');
  writeFileSync(join(repository.checkout, 'packages/b/two.ts'), 'changed too\n');
  mkdirSync(join(workDir, 'deep'));
  writeFileSync(join(workDir, 'deep/new.ts'), 'new\n');
  await tracker.updateFromToolResult('write_file', { success: true, path: 'deep/new.ts' });
  const { files } = tracker.getSnapshot();
  const hashed = (path: string) => repository.plain('hash-object', `packages/a/${path}`);
  expect(files.map(({ path, status, blob, wrote }) => [path, status, blob, wrote?.via]).sort()).toEqual([
    ['deep/new.ts', 'created', hashed('deep/new.ts'), 'tool'],
    ['one.ts', 'modified', hashed('one.ts'), 'outside'],
  ]);
});
