import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { HostPaths } from './host-paths.ts';

verifies('F-31').test('what a host records of its own folders another one reads as its own', () => {
  const one = new HostPaths('/home/a/"work"');
  const two = new HostPaths('/srv/b', [['01A', '01B']]);
  const log = 'fails in /home/a/"work"/01A/src/x.ts, not in /home/a/"work"er/01C';
  const recorded = one.toRecord({ worktree: { id: '01A', path: '/home/a/"work"/01A' }, log });
  expect(JSON.stringify(recorded)).not.toContain('/home/a/\\"work\\"/');
  expect(one.fromRecord(recorded)).toEqual({ worktree: { id: '01A', path: '/home/a/"work"/01A' }, log });
  const read = two.fromRecord(recorded);
  expect(read.worktree).toEqual({ id: '01B', path: '/srv/b/01B' });
  expect(two.toRecord(read)).toEqual(recorded);
});
