import { afterEach, beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { managerOf } from '../../test/support/manager.ts';
import { verifies } from '../../test/support/verifies.ts';
import { systemClock } from '../base/clock.ts';
import { enqueueLine, enqueueMessage } from './outbox.ts';

let storage: TestStorage<typeof systemClock>;
beforeEach(() => {
  storage = new TestStorage(systemClock);
});
afterEach(() => storage.close());

verifies('A-174').test(
  'a launch whose program never ran leaves the job queued with its task, without session and greeting',
  async () => {
    const id = '01JA0000000000000000000000';
    storage.addJob(id, { agent: 'codex-exec', status: 'queued', sessionId: 'chosen' }, { isLaunching: true });
    storage.change(id, (tx) => {
      enqueueMessage(tx, { messageId: 'm', text: 'the task', by: 'user', isTask: true });
      enqueueLine(tx, '{"hello":1}', '1:greeting:0');
    });
    const { runner } = managerOf(storage);
    await runner.start();
    await runner.close();
    const { job, runtime } = storage.record(id);
    expect([job.status, job.sessionId, runtime.isLaunching]).toEqual(['queued', undefined, false]);
    expect(storage.mail(id)).toMatchObject([{ kind: 'message', text: 'the task' }]);
    expect(storage.events(id)).toEqual([]);
  },
);
