import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aJob, CANARY, ends, says, TestStorage } from '../../test/support/job-storage.ts';
import { managerOf } from '../../test/support/manager.ts';
import { verifies } from '../../test/support/verifies.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job, JobStatus } from '../protocol/jobs.ts';
import { type Caller, type JobCore, type OperationInput, operations } from '../protocol/operations.ts';
import { SnapshotFile } from '../store/snapshot-file.ts';
import type { JobManager } from './job-manager.ts';
import type { JobRunner } from './job-runner.ts';
import { freshRuntime, type JobRuntime } from './job-runtime.ts';
import { Snapshotter } from './snapshotter.ts';

let dir: string;
let repo: string;
let storage: TestStorage<Clock>;
let manager: JobManager;
let runner: JobRunner;
beforeEach(() => {
  storage = new TestStorage(systemClock);
  dir = storage.dir;
  repo = join(dir, 'repo');
  mkdirSync(join(repo, '.git'), { recursive: true });
  writeFileSync(join(repo, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'claude'), '#!/bin/sh\n');
  chmodSync(join(dir, 'bin', 'claude'), 0o755);
  ({ manager, runner } = managerOf(storage));
});
afterEach(async () => {
  await runner.close();
  storage.close();
});

const me: Caller = { by: 'me', surface: 'cli' };
const nobody = new AbortController().signal;
async function call<N extends keyof JobCore>(name: N, input: OperationInput<N>, caller = me) {
  const request = operations[name].input.parse(input) as never;
  const answer = await (manager as JobCore)[name](request, caller, nobody);
  return operations[name].output.parse(answer) as Awaited<ReturnType<JobCore[N]>>;
}
async function refusal(act: Promise<unknown>): Promise<string> {
  try {
    return `none: ${JSON.stringify(await act)}`;
  } catch (error) {
    if (error instanceof ReefError) return error.code;
    throw error;
  }
}

const ID = (n: number) => `01JOB${String(n).padStart(21, '0')}`;
const addJob = (id: string, more: Partial<Job> = {}, runtime: Partial<JobRuntime> = {}) =>
  storage.addJob(id, { cwd: repo, sessionId: 's', ...more }, runtime);
const mail = (id: string) => storage.mail(id);

const STATUSES = ['queued', 'running', 'awaiting_input', 'paused', 'completed', 'error', 'killed', 'stale'] as const;
type Trigger = 'send' | 'interrupt' | 'resume' | 'kill';

/** Of jobs without a process: the status a trigger leads to, or why it is refused. */
const table: Record<Trigger, Record<JobStatus, JobStatus | { refused: string }>> = {
  send: {
    queued: 'queued',
    running: 'running',
    awaiting_input: 'awaiting_input',
    paused: 'queued',
    completed: { refused: 'job_ended' },
    error: { refused: 'job_ended' },
    killed: { refused: 'job_ended' },
    stale: { refused: 'job_ended' },
  },
  interrupt: {
    queued: { refused: 'invalid_transition' },
    running: { refused: 'invalid_transition' },
    awaiting_input: { refused: 'invalid_transition' },
    paused: 'paused',
    completed: { refused: 'job_ended' },
    error: { refused: 'job_ended' },
    killed: { refused: 'job_ended' },
    stale: { refused: 'job_ended' },
  },
  resume: {
    queued: { refused: 'invalid_transition' },
    running: { refused: 'invalid_transition' },
    awaiting_input: { refused: 'invalid_transition' },
    paused: 'queued',
    completed: 'queued',
    error: 'queued',
    killed: { refused: 'not_resumable' },
    stale: 'queued',
  },
  kill: {
    queued: 'killed',
    running: 'killed',
    awaiting_input: 'killed',
    paused: 'killed',
    completed: 'completed',
    error: 'error',
    killed: 'killed',
    stale: 'stale',
  },
};

const proves = { send: [], interrupt: [], resume: ['A-23'], kill: ['A-21'] } as const;

describe.each(Object.keys(table) as Trigger[])('%s', (trigger) => {
  for (const status of STATUSES) {
    const expected = table[trigger][status];
    const how =
      typeof expected === 'string' ? `leads from ${status} to ${expected}` : `is refused to a job that is ${status}`;
    verifies('A-24', ...proves[trigger]).test(how, async () => {
      addJob(ID(1), { status, ...(status === 'paused' ? { reason: 'interrupted' } : {}) });
      const before = { record: storage.store.jobs.get(ID(1)), lastSeq: storage.store.events.lastSeq() };
      const act = trigger === 'send' ? call('send', { id: ID(1), text: 'go on' }) : call(trigger, { id: ID(1) });
      if (typeof expected !== 'string') {
        const code = await refusal(act);
        const after = { record: storage.store.jobs.get(ID(1)), lastSeq: storage.store.events.lastSeq() };
        expect({ code, after, mail: mail(ID(1)) }).toEqual({ code: expected.refused, after: before, mail: [] });
        return;
      }
      const answer = await act;
      expect([answer.status, storage.store.jobs.get(ID(1))?.job.status]).toEqual([expected, expected]);
    });
  }
});

describe('resume', () => {
  test('of a job whose agent never named a session is no_session', async () => {
    storage.addJob(ID(1), { cwd: repo, status: 'completed' });
    expect(await refusal(call('resume', { id: ID(1) }))).toBe('no_session');
  });

  test('twice with the same key in a send is one message', async () => {
    addJob(ID(1), { status: 'paused', reason: 'interrupted' });
    const answers = [1, 2].map(() => call('send', { id: ID(1), text: 'go on', key: 'k' }));
    const [first, second] = await Promise.all(answers);
    expect({ isSame: first?.messageId === second?.messageId, mail: mail(ID(1)).length }).toEqual({
      isSame: true,
      mail: 1,
    });
  });
});

describe('status', () => {
  verifies('A-141', 'A-25', 'Q-10').test(
    'shows the last 20 that ended: the 21st evicts the oldest, in state.json too',
    async () => {
      const file = new SnapshotFile(join(dir, 'state.json'));
      const shown = async () => {
        const snapshotter = new Snapshotter({
          store: storage.store,
          hook: file,
          clock: storage.clock,
          redact: (value) => storage.log.redact(value),
          onFailure: () => undefined,
        });
        await snapshotter.close();
        const { jobs } = await call('status', {});
        const saved = await file.load();
        const ofSaved = [...(saved?.active ?? []), ...(saved?.completed ?? [])];
        return [jobs, ofSaved].map((list) => list.map(({ id }) => id));
      };
      addJob(ID(50));
      for (let n = 1; n <= 20; n++) {
        addJob(ID(n));
        storage.tell(ID(n), ends());
      }
      const before = await shown();
      addJob(ID(0));
      storage.tell(ID(0), ends('killed'));
      const after = await shown();
      const newestFirst = Array.from({ length: 20 }, (_, n) => ID(20 - n));
      const all = [ID(50), ...newestFirst];
      const pruned = [ID(50), ID(0), ...newestFirst.slice(0, 19)];
      expect({ before, after }).toEqual({ before: [all, all], after: [pruned, pruned] });
    },
  );

  test('tells what a job says last, shortened and without secrets, and what it asks', async () => {
    addJob(ID(1), {}, { wasHeard: true });
    storage.tell(ID(1), says(`the key is ${CANARY} ${'x'.repeat(1000)}`));
    const { jobs } = await call('status', { id: ID(1) });
    expect(jobs).toEqual([
      {
        ...storage.store.jobs.get(ID(1))?.job,
        awaiting_input: false,
        activity: 'working',
        questions: [],
        lastOutput: `the key is [redacted] ${'x'.repeat(1000)}`.slice(0, 400),
      },
    ]);
  });
});

describe('kill', () => {
  test('twice gives the same answer', async () => {
    addJob(ID(1), {}, { lastText: 'the last word' });
    const first = await call('kill', { id: ID(1) });
    expect([first, await call('kill', { id: ID(1) })]).toEqual([
      { agentId: ID(1), status: 'killed', finalOutput: 'the last word' },
      { agentId: ID(1), status: 'killed', finalOutput: 'the last word' },
    ]);
  });

  verifies('A-81').test('of a parent ends its children first, and that of a child leaves the parent', async () => {
    addJob(ID(1));
    addJob(ID(2), { parentId: ID(1), rootId: ID(1), depth: 1 });
    addJob(ID(3), { parentId: ID(2), rootId: ID(1), depth: 2 });
    addJob(ID(4), { parentId: ID(1), rootId: ID(1), depth: 1 });
    await call('kill', { id: ID(4) });
    const parent = storage.store.jobs.get(ID(1))?.job.status;
    await call('kill', { id: ID(1) });
    const order = storage.store.jobs.lastEnded(20).map(({ job }) => job.id);
    expect({ parent, order }).toEqual({ parent: 'running', order: [ID(1), ID(2), ID(3), ID(4)] });
  });

  verifies('A-81').test('of a parent ends what it started while its children ended, too', async () => {
    const below = { parentId: ID(1), rootId: ID(1), depth: 1 };
    addJob(ID(1));
    addJob(ID(2), below);
    const meanwhile = [ID(3)];
    const endRuns = async (id: string) => {
      if (id === ID(2)) for (const another of meanwhile.splice(0)) addJob(another, below);
    };
    ({ manager, runner } = managerOf(storage, { endRuns }));
    await call('kill', { id: ID(1) });
    expect(storage.store.jobs.live()).toEqual([]);
  });
});

verifies('A-61').test('output that was read before the end does not say that the job is over', async () => {
  addJob(ID(1));
  storage.tell(ID(1), says('first'));
  const reading = call('output', { id: ID(1) });
  storage.tell(ID(1), says('last'), ends());
  const page = await reading;
  const rest = await call('output', { id: ID(1), since: page.nextCursor });
  expect([page, rest].map(({ events, status }) => [events.length, status])).toEqual([
    [1, 'running'],
    [2, 'completed'],
  ]);
});

describe('an id', () => {
  const reading = ['status', 'output', 'kill', 'interrupt', 'resume'] as const;
  verifies('A-149', 'Q-37').test(
    'that is unknown is job_not_found everywhere; send to an ended job is job_ended',
    async () => {
      addJob(ID(1), { status: 'stale' });
      const codes = [
        ...reading.map((name) => refusal(call(name, { id: 'NOPE' }))),
        refusal(call('send', { id: 'NOPE', text: 'x' })),
        refusal(call('wait', { ids: ['NOPE'] })),
        refusal(call('send', { id: ID(1), text: 'x' })),
      ];
      expect(await Promise.all(codes)).toEqual([...Array<string>(7).fill('job_not_found'), 'job_ended']);
    },
  );

  test('may be short where it is clear, in any case, or @last', async () => {
    addJob('01AAA00000000000000000000A');
    addJob('01AAB00000000000000000000B');
    const found = async (id: string) => (await call('status', { id })).jobs[0]?.id.slice(-1);
    expect([await found('01aaa'), await found('01AAB'), await found('@last')]).toEqual(['A', 'B', 'B']);
    expect(await refusal(call('status', { id: '01AA' }))).toBe('ambiguous_id');
  });

  verifies('X-08').test('of a job that is no descendant of the calling one is not_yours', async () => {
    addJob(ID(1));
    addJob(ID(2), { parentId: ID(1), rootId: ID(1), depth: 1 });
    addJob(ID(3));
    const caller: Caller = { by: ID(1), surface: 'job', jobId: ID(1) };
    const mine = (await call('status', {}, caller)).jobs.map(({ id }) => id);
    const codes = [
      ...reading.map((name) => refusal(call(name, { id: ID(3) }, caller))),
      refusal(call('send', { id: ID(3), text: 'x' }, caller)),
      refusal(call('wait', { ids: [ID(3)] }, caller)),
    ];
    expect({ mine, codes: await Promise.all(codes) }).toEqual({
      mine: [ID(1), ID(2)],
      codes: Array<string>(7).fill('not_yours'),
    });
  });
});

describe('wait', () => {
  verifies('A-64').test('returns at once when its condition already holds', async () => {
    addJob(ID(1), { status: 'completed' });
    addJob(ID(2), { status: 'awaiting_input' });
    addJob(ID(3), { status: 'paused', reason: 'idle' });
    const wait = async (id: string, until: ('needs_input' | 'done' | 'idle')[]) =>
      (await call('wait', { ids: [id], until, timeoutMs: 45_000 })).met;
    expect([await wait(ID(1), ['done']), await wait(ID(2), ['needs_input']), await wait(ID(3), ['idle'])]).toEqual([
      true,
      true,
      true,
    ]);
  });

  verifies('J-04').test('ends when its condition can no longer come true, and says why', async () => {
    addJob(ID(1), { status: 'completed' });
    addJob(ID(2), { status: 'paused', reason: 'idle' });
    addJob(ID(3), { status: 'paused', reason: 'rate_limit' });
    addJob(ID(4), { status: 'running' });
    type Until = ('needs_input' | 'done' | 'idle')[];
    const wait = async (ids: string[], until: Until, timeoutMs = 45_000) => {
      const { met, because } = await call('wait', { ids, until, timeoutMs });
      return [met, because];
    };
    const asksOrEnds: Until = ['needs_input', 'done'];
    expect(await wait([ID(1)], ['needs_input'])).toEqual([false, `Job ${ID(1)} has ended (completed).`]);
    const idle = `Job ${ID(2)} is idle: its turn is over, and it is kept for another message.`;
    expect(await wait([ID(1), ID(2)], asksOrEnds)).toEqual([false, idle]);
    expect(await wait([ID(2), ID(3)], asksOrEnds)).toEqual([
      false,
      `${idle} Job ${ID(3)} is paused (rate_limit) until it is resumed.`,
    ]);
    // One of them may still ask; but they cannot all end.
    expect(await wait([ID(2), ID(4)], asksOrEnds, 1)).toEqual([false, undefined]);
    expect(await wait([ID(2), ID(4)], ['done'])).toEqual([false, idle]);
    expect(await wait([ID(2), ID(4)], ['idle'], 1)).toEqual([false, undefined]);
  });

  verifies('J-04').test(
    'goes on while a message for an idle job is on its way, and where there is nobody',
    async () => {
      expect(await call('wait', { until: ['needs_input'] })).toEqual({
        met: false,
        because: 'No job is active.',
        jobs: [],
      });
      expect(await call('wait', { until: ['done'] })).toEqual({ met: true, jobs: [] });
      addJob(ID(1), { status: 'paused', reason: 'idle' });
      const row = { key: 'k', jobId: ID(1), ref: 'm', state: 'written' as const, doc: { kind: 'message' } };
      storage.store.commit(() => storage.store.outbox.insert(row));
      expect(await call('wait', { ids: [ID(1)], timeoutMs: 1 })).toMatchObject({ met: false });
      expect(await call('wait', { ids: [ID(1)], timeoutMs: 1 })).not.toHaveProperty('because');
    },
  );

  test('says that its time was up', async () => {
    addJob(ID(1));
    expect((await call('wait', { ids: [ID(1)], timeoutMs: 1 })).met).toBe(false);
  });
});

describe('spawn', () => {
  const task = { agent: 'claude', task: 'Add a test' };

  verifies('A-10').test('answers from the queued row, which holds the task', async () => {
    const { agentId, status } = await call('spawn', { ...task, cwd: repo, budget: { turns: 3 }, keep: true });
    const { job } = storage.store.jobs.get<JobRuntime>(agentId) ?? {};
    expect({
      status,
      job,
      mail: mail(agentId),
      events: storage.store.events.tail(agentId, 5).map(({ payload }) => payload),
    }).toEqual({
      status: 'queued',
      job: expect.objectContaining({
        status: 'queued',
        cwd: repo,
        keep: true,
        budget: { turns: 3 },
        launch: 0,
        depth: 0,
      }),
      mail: [{ kind: 'message', messageId: `${agentId}:task`, text: 'Add a test', by: 'task', isTask: true }],
      events: [{ kind: 'queued', position: 1 }],
    });
  });

  test('with the key of an earlier one starts nothing new', async () => {
    const both = [
      await call('spawn', { ...task, key: 'k' }),
      await call('spawn', { ...task, task: 'other', key: 'k' }),
    ];
    expect([both[0], storage.store.jobs.queuedCount()]).toEqual([both[1], 1]);
  });

  const bad: [string, Partial<OperationInput<'spawn'>>, string][] = [
    ['an agent nobody knows', { agent: 'hal' }, 'agent_unknown'],
    ['an agent that is not there', { agent: 'codex' }, 'agent_not_installed'],
    ['a folder that is not there', { cwd: '/no/such/folder' }, 'cwd_missing'],
    ['a folder in no repository', { cwd: '/' }, 'not_a_repository'],
    ['a coder in no repository', { agent: 'native:coder', cwd: '/' }, 'not_a_repository'],
    ['a task over 1 MiB', { task: 'ü'.repeat(600_000) }, 'task_too_large'],
    [
      'a sandbox around an agent that needs what it hides',
      { agent: 'native:coder', sandbox: true },
      'sandbox_unsupported',
    ],
    ['a sandbox that is not there', { sandbox: true }, 'sandbox_unavailable'],
    ['yes without a sandbox', { yes: true }, 'unsafe_needs_consent'],
    ['a parent that is not there', { parentId: 'NOPE' }, 'job_not_found'],
  ];
  for (const [what, input, code] of bad) {
    verifies('A-60').test(`with ${what} leaves no row`, async () => {
      const refused = await refusal(call('spawn', { ...task, ...input }));
      expect([refused, storage.store.jobs.live(), storage.store.events.lastSeq()]).toEqual([code, [], 0]);
    });
  }

  verifies('X-60').test('of the 1,001st that waits is queue_full', async () => {
    storage.store.commit(() => {
      for (let n = 0; n < 1000; n++) {
        storage.store.jobs.insert({ job: aJob(ID(n), { cwd: repo, status: 'queued' }), runtime: freshRuntime() });
      }
    });
    expect(await refusal(call('spawn', task))).toBe('queue_full');
  });

  test('by a job makes a child of it, whatever it says', async () => {
    addJob(ID(1), { depth: 0 });
    const caller: Caller = { by: ID(1), surface: 'job', jobId: ID(1) };
    const { agentId } = await call('spawn', task, caller);
    expect(storage.store.jobs.get(agentId)?.job).toMatchObject({ parentId: ID(1), rootId: ID(1), depth: 1, cwd: repo });
  });
});
