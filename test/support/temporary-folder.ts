import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** A folder that goes with its `using` block or with the rig that holds it: for rigs that serve benchmarks too. */
export function disposableFolder(parent = tmpdir()): { path: string } & Disposable {
  const path = realpathSync(mkdtempSync(join(parent, 'reef-')));
  const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  return { path, [Symbol.dispose]: remove };
}

/**
 * A folder that goes when the test that made it has ended, passed or failed, after its `afterEach`; one that a file or a
 * `describe` makes goes with its last test. Not for `beforeAll`: vitest drops the hooks that are registered there.
 */
export function temporaryFolder(parent?: string): string {
  const folder = disposableFolder(parent);
  const atTheEnd = TestRunner.getCurrentTest() ? onTestFinished : afterAll;
  atTheEnd(folder[Symbol.dispose]);
  return folder.path;
}
