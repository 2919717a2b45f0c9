import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { type NewTask, TaskQueue, type TaskView } from './task-queue.ts';

verifies('R-104').test('tasks are numbered from 1 and wait for those they name', () => {
  const queue = new TaskQueue();
  queue.create({ subject: 'read' });
  queue.create({ subject: 'write', description: 'all of it', blocked_by: ['1'], agent: 'coder' });
  expect(queue.list()).toEqual([
    { id: '1', subject: 'read', description: '', status: 'pending', blocked_by: [] },
    {
      ...{ id: '2', subject: 'write', description: 'all of it', status: 'blocked', blocked_by: ['1'], agent: 'coder' },
      reason: 'task 1 is not completed',
    },
  ]);
  expect(queue.claim('2')).toBe(false);
  queue.complete('1');
  expect([queue.view('2').status, queue.ready()]).toEqual([
    'pending',
    [{ id: '2', agent: 'coder', prompt: 'write\n\nall of it' }],
  ]);
  expect([queue.claim('2'), queue.claim('2'), queue.view('2').status]).toEqual([true, false, 'in_progress']);
});

/** The known-bad twin: whether a task is blocked is settled when it is made, by what it names. */
class SettledAtBirth extends TaskQueue {
  override create(task: NewTask): TaskView {
    const view = super.create(task);
    return { ...view, status: view.blocked_by.length > 0 ? 'blocked' : 'pending' };
  }
}

verifies('D2', 'R-104').test('a dependency that is completed when the task is made does not block it', () => {
  const statusIn = (queue: TaskQueue) => {
    queue.create({ subject: 'a' });
    queue.complete('1');
    return queue.create({ subject: 'b', blocked_by: ['1'] }).status;
  };
  expect([statusIn(new TaskQueue()), statusIn(new SettledAtBirth())]).toEqual(['pending', 'blocked']);
});

verifies('R-104').test('an unknown id and a task that waits for itself are refused with the ids there are', () => {
  const queue = new TaskQueue();
  expect(() => queue.create({ subject: 'a', blocked_by: ['7'] })).toThrow(
    'There is no task "7". There are no tasks yet.',
  );
  queue.create({ subject: 'a' });
  expect(() => queue.create({ subject: 'b', blocked_by: ['2'] })).toThrow('A task cannot wait for itself. Tasks: 1.');
  expect(() => queue.complete('9')).toThrow('There is no task "9". Tasks: 1.');
  expect(queue.list()).toHaveLength(1);
});

verifies('R-105').test('a failure leaves dependents blocked, with the reason, and is not undone', () => {
  const queue = new TaskQueue();
  queue.create({ subject: 'a' });
  queue.create({ subject: 'b', blocked_by: ['1'] });
  queue.fail('1', 'no disk');
  expect(queue.view('2')).toMatchObject({ status: 'blocked', reason: 'task 1 failed: no disk' });
  expect(() => queue.complete('1')).toThrow('Task 1 has failed');
  expect(() => queue.complete('2')).toThrow('Task 2 cannot be completed: task 1 failed: no disk');
});

test('whatever is made and done, a task is ready iff all it names are completed, and there is never a circle', () => {
  const step = fc.record({
    blockers: fc.array(fc.nat(12), { maxLength: 3 }),
    act: fc.constantFrom('create', 'complete', 'fail'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const queue = new TaskQueue();
      for (const { blockers, act } of steps) {
        const ids = blockers.map((n) => String(n + 1));
        try {
          if (act === 'create') queue.create({ subject: 's', blocked_by: ids, agent: 'a' });
          else if (act === 'complete') queue.complete(ids[0] ?? '1');
          else queue.fail(ids[0] ?? '1', 'why');
        } catch {
          // refused: nothing has changed
        }
      }
      const all = queue.list();
      for (const { id, blocked_by } of all) expect(blocked_by.every((other) => Number(other) < Number(id))).toBe(true);
      const isDone = (id: string) => all.find((task) => task.id === id)?.status === 'completed';
      const expected = all.filter(
        ({ status, blocked_by }) => ['pending', 'blocked'].includes(status) && blocked_by.every(isDone),
      );
      expect(queue.ready().map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    }),
  );
});
