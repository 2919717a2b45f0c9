import { afterEach, expect, test } from 'vitest';
import { sampleEntry, sampleEvent, sampleJob, sampleQuestion } from '../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Core } from '../../protocol/operations.ts';
import type { InboxMessage } from '../../runtime/state/scope.ts';
import { Escalations } from '../../runtime/team/escalation.ts';
import { connect } from '../client/client.ts';
import { type ChildJobsDeps, childJobs } from './child-jobs.ts';

const opened: TestSocket[] = [];
afterEach(async () => {
  for (const socket of opened.splice(0)) await socket.close();
});
const never = new AbortController().signal;
const letter: InboxMessage = { kind: 'text', from: 'J0', text: 'hello' };

async function open(changes: Partial<Core> = {}, parts: Partial<ChildJobsDeps> = {}) {
  const { core, calls } = smallCore(undefined, changes);
  const socket = await openSocket(core);
  opened.push(socket);
  const escalations = new Escalations();
  const client = connect({ socket: socket.path, surface: 'mcp' });
  const tree = { deliver: () => false };
  return {
    jobs: childJobs({ jobId: 'J0', client, clock: systemClock, escalations, tree, ...parts }),
    calls,
    escalations,
    socket,
  };
}

verifies('R-103').test('a job is followed over all its pages to its end', async () => {
  const { id } = sampleJob();
  const events = [
    sampleEvent('progress', { kind: 'text', text: 'working' }),
    sampleEvent('completed', { scope: 'turn', outcome: 'done', result: 'the whole answer' }),
    sampleEvent('completed', { scope: 'process', outcome: 'done', result: 'the whole answer', signal: 'SIGTERM' }),
  ];
  const { jobs, calls } = await open({
    output: async ({ since }) => {
      const at = Number(since);
      const isOver = at >= events.length - 1;
      return {
        ...{ agentId: id, status: isOver ? 'completed' : 'running', events: events.slice(at, at + 1) },
        ...{ nextCursor: String(at + 1), truncated: !isOver },
      };
    },
  });
  expect(await jobs.ended(id, never)).toEqual({ status: 'completed', output: 'the whole answer', exit_status: '0' });
  expect(calls.map(({ input }) => (input as { since: string }).since)).toEqual(['0', '1', '2']);
});

test('how a job failed or was killed is told with what it left', async () => {
  const ends: ['error' | 'killed', ReturnType<typeof sampleEvent>][] = [
    ['error', sampleEvent('error', { code: 'agent_exit', message: 'it exited with code 3', exitCode: 3 })],
    ['killed', sampleEvent('completed', { scope: 'process', outcome: 'killed', result: 'half' })],
  ];
  const { jobs } = await open({
    output: async ({ id }) => {
      const [status, event] = ends[Number(id)] ?? [];
      return {
        agentId: id,
        status: status ?? 'error',
        events: event ? [event] : [],
        nextCursor: '1',
        truncated: false,
      };
    },
  });
  expect([await jobs.ended('0', never), await jobs.ended('1', never)]).toEqual([
    { status: 'failed', output: '', exit_status: 'agent_exit: it exited with code 3' },
    { status: 'cancelled', output: 'half', exit_status: 'killed' },
  ]);
});

verifies('R-102').test('what is asked below a job is told with its chain; others are not', async () => {
  const mine = sampleEntry(sampleQuestion({ requestId: '"q7"', path: ['J0', 'J1', 'J2'], question: 'Mine?' }));
  const other = sampleEntry(sampleQuestion({ requestId: '"q8"', path: ['J0', 'J9'] }));
  const { jobs } = await open({ inbox: async () => ({ questions: [{ ...mine, jobId: 'J2' }, other], notices: [] }) });
  expect(await jobs.attend('J1', never)).toMatchObject([
    { id: 'J2:q7', job_id: 'J2', path: ['J0', 'J1', 'J2'], question: 'Mine?' },
  ]);
});

verifies('R-102').test(
  'a reply goes to an agent of this host below the one that replies, and to nobody else',
  async () => {
    const { jobs, escalations } = await open();
    const replies: string[] = [];
    const ask = (id: string, path: string[]) =>
      escalations.add({
        ...{ id, job_id: path.at(-1) ?? '', agent: 'hand', path, kind: 'input', question: 'How?' },
        reply: (text, by) => void replies.push(`${id}: ${text} by ${by}`),
      });
    ask('J2:q1', ['J0', 'J2']);
    ask('J8:q1', ['J7', 'J8']);
    await expect(jobs.reply('J8:q1', 'x')).rejects.toMatchObject({ code: 'not_yours' });
    await jobs.reply('hand', 'well');
    await expect(jobs.reply('J2:q1', 'again')).rejects.toMatchObject({ code: 'not_yours' });
    expect(replies).toEqual(['J2:q1: well by job:J0']);
  },
);

verifies('R-106').test(
  'a message goes to an agent of this host, waits for one that is coming, and else over the wire',
  async () => {
    const delivered: unknown[] = [];
    const tree = {
      deliver: (message: InboxMessage, to: { id: string; isComing: boolean }) => {
        delivered.push([message.text, to]);
        return to.isComing;
      },
    };
    const { id } = sampleJob();
    const { jobs, calls } = await open({}, { tree });
    const native = await jobs.spawn({ agent: 'native:hand', task: 't', cwd: '/repo', maxDepth: 3 });
    await jobs.send(native, letter);
    const { jobs: others, calls: wire } = await open({}, { tree });
    await others.spawn({ agent: 'native:coder', task: 't', cwd: '/repo', maxDepth: 3 });
    await others.send(id, letter);
    expect(delivered).toEqual([
      ['hello', { id, isComing: true }],
      ['hello', { id, isComing: false }],
    ]);
    expect([calls, wire].map((made) => made.map(({ operation }) => operation))).toEqual([['spawn'], ['spawn', 'send']]);
  },
);

verifies('R-106').test('to a job that is over nothing is sent, and the refusal keeps its code', async () => {
  const refuse = async () => {
    throw new ReefError('job_ended', 'job is over');
  };
  const { jobs } = await open({ send: refuse });
  await expect(jobs.send(sampleJob().id, letter)).rejects.toMatchObject({ name: 'ReefError', code: 'job_ended' });
});

verifies('R-08').test(
  'a daemon that is away is waited for, and a spawn that is repeated starts nothing twice',
  async () => {
    const first = await open();
    const { path } = first.socket;
    await first.socket.close();
    opened.pop();
    const waits = first.jobs.spawn({ agent: 'native:hand', task: 't', cwd: '/repo', maxDepth: 3 });
    const { core, calls } = smallCore();
    const { mkdir } = await import('node:fs/promises');
    await mkdir(first.socket.dir, { recursive: true });
    opened.push(await openSocket(core, { path }));
    expect(await waits).toBe(sampleJob().id);
    expect(calls.map(({ input }) => typeof (input as { key?: string }).key)).toEqual(['string']);
  },
);

test('who gives up waiting is let go', async () => {
  const stop = new AbortController();
  const { jobs } = await open({
    output: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        stop.abort(new Error('enough'));
      }),
  });
  await expect(jobs.ended('x', stop.signal)).rejects.toThrow('enough');
});
