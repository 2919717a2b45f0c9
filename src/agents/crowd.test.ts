import { expect } from 'vitest';
import { sampleJob } from '../../test/support/surfaces/samples.ts';
import { verifies } from '../../test/support/verifies.ts';
import { refuseCrowd } from './permissions.ts';

const root = sampleJob({ id: 'ROOT', rootId: 'ROOT' });
const below = (count: number, parentId: string) =>
  Array.from({ length: count }, (_, n) => ({ job: sampleJob({ id: `${parentId}-${n}`, parentId, rootId: 'ROOT' }) }));

verifies('X-139').test('a job has 64 children at work at most, and a root 256 jobs below it', () => {
  expect(() => refuseCrowd(root, below(63, 'ROOT'))).not.toThrow();
  expect(() => refuseCrowd(root, below(64, 'ROOT'))).toThrow('job ROOT has 64 children at work');
  const family = ['A', 'B', 'C', 'D', 'E'].flatMap((parent) => below(52, parent));
  expect(() => refuseCrowd(root, family.slice(0, 255))).not.toThrow();
  expect(() => refuseCrowd(root, family)).toThrow('260 jobs work below ROOT');
});
