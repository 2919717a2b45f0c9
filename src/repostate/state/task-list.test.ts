import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { TaskList } from './task-list.ts';

verifies('S-51').test('a list is set, worked off in order, and survives a restart', () => {
  const list = new TaskList();
  list.set(['read the code', 'fix it']);
  list.start('k1');
  expect(() => list.start('k2')).toThrow(expect.objectContaining({ code: 'todo_invalid' }));
  list.complete('k1');
  list.start('k2');
  list.add('  test it ');
  const again = new TaskList();
  again.load(list.list());
  again.add('ship it');
  expect(again.list()).toEqual([
    { id: 'k1', description: 'read the code', priority: 1, status: 'completed' },
    { id: 'k2', description: 'fix it', priority: 2, status: 'in_progress' },
    { id: 'k3', description: 'test it', priority: 3, status: 'pending' },
    { id: 'k4', description: 'ship it', priority: 4, status: 'pending' },
  ]);
});

verifies('S-51').test('items are few, short and one line; dropping one needs a reason', () => {
  const list = new TaskList();
  const tooLong = expect.objectContaining({ code: 'todo_too_long' });
  expect(() => list.set(Array(11).fill('x'))).toThrow(tooLong);
  expect(() => list.set(['x'.repeat(121)])).toThrow(tooLong);
  expect(() => list.add('two\nlines')).toThrow(tooLong);
  list.set(Array.from({ length: 10 }, (_, n) => `step ${n}`));
  expect(() => list.add('one more')).toThrow(tooLong);
  const invalid = expect.objectContaining({ code: 'todo_invalid' });
  expect(() => list.drop('k1', ' ')).toThrow(invalid);
  expect(() => list.complete('k99')).toThrow(invalid);
  list.drop('k1', 'not needed after all');
  expect(() => list.add('')).toThrow(invalid);
  expect(list.list()).toHaveLength(9);
});
