import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { aJob } from '../../test/support/job-storage.ts';
import { verifies } from '../../test/support/verifies.ts';
import { type ErrorCode, errorTable } from '../protocol/error-table.ts';
import { type EventBody, eventBodySchema } from '../protocol/events.ts';
import type { Job } from '../protocol/jobs.ts';
import { type ProcessEnd, terminalEvent, toExit } from './ending.ts';
import { freshRuntime, type JobRuntime } from './job-runtime.ts';
import { foldStatus } from './job-status.ts';
import { noUsage } from './usage.ts';

const job = aJob('J', {
  startedAt: '2026-01-01T00:00:01.000Z',
  usage: { ...noUsage, input: 5 },
  turns: 1,
});
const runtime: JobRuntime = { ...freshRuntime(), lastText: 'All done.', stderrTail: 'a warning\n' };

type Turn = JobRuntime['turn'];
const none: Turn = { is: 'none' };
const open: Turn = { is: 'open' };
const over = (outcome: 'done' | 'interrupted' | 'ended'): Turn => ({ is: 'over', outcome });
const failed: Turn = { is: 'failed', code: 'agent_error', message: 'the model said no', retryable: true };

interface Case {
  code?: number | 'unknown';
  ceilingReached?: boolean;
  turn?: Turn;
  ending?: JobRuntime['ending'];
  paused?: Job['reason'];
  /** What only the adapter could tell. */
  told?: { code: ErrorCode; message: string };
}

function endOf(given: Case): { event: EventBody; status: string } {
  const { code = 0, ceilingReached = false, turn = none, ending = null, paused, told } = given;
  const end: ProcessEnd = code === 'unknown' ? code : { code, ceilingReached, at: '2026-01-01T00:00:03.500Z' };
  const stopped: Job = paused === undefined ? job : { ...job, status: 'paused', reason: paused };
  const parts = { job: stopped, runtime: { ...runtime, turn, ending }, end, adapter: { finish: () => told } };
  const event = terminalEvent(parts);
  const before = { status: stopped.status, reason: stopped.reason, open: [] };
  return { event, status: foldStatus(before, event, stopped).status };
}

const exit = (code: number) => {
  const { code: exitCode, signal } = toExit(code, '');
  return { ...(exitCode === null ? {} : { exitCode }), ...(signal === null ? {} : { signal }) };
};
const completed = (outcome: 'done' | 'interrupted' | 'killed' | 'ended', code: number): EventBody => ({
  type: 'completed',
  payload: {
    scope: 'process',
    outcome,
    result: 'All done.',
    usage: job.usage,
    durationMs: 2500,
    ...exit(code),
    derived: true,
  },
});
const fails = (code: ErrorCode, message: string, exitCode: number): EventBody => ({
  type: 'error',
  payload: {
    code,
    message,
    fatal: true,
    scope: 'process',
    retryable: errorTable[code].retryable,
    ...exit(exitCode),
    stderrTail: 'a warning\n',
  },
});

const kill = { why: 'kill' } as const;
const linger = { why: 'linger' } as const;
const failure = { why: 'failure', fails: { code: 'output_limit', message: 'too much' } } as const;
const early = 'the agent ended before its turn was over';

const table: [row: string, given: Case, event: EventBody, status: string][] = [
  // any · kill accepted
  ['killed, whatever the code', { code: 137, ending: kill, turn: open }, completed('killed', 137), 'killed'],
  ['killed, though its turn was done', { code: 0, ending: kill, turn: over('done') }, completed('killed', 0), 'killed'],
  ['killed, though its turn failed', { code: 1, ending: kill, turn: failed }, completed('killed', 1), 'killed'],
  ['killed, though it was paused', { code: 143, ending: kill, paused: 'idle' }, completed('killed', 143), 'killed'],
  [
    'killed, though the ceiling was reached',
    { code: 124, ceilingReached: true, ending: kill },
    completed('killed', 124),
    'killed',
  ],
  // any · paused
  ['ended while paused by a limit', { code: 143, paused: 'rate_limit' }, completed('ended', 143), 'paused'],
  ['ended while interrupted', { code: 1, paused: 'interrupted', turn: failed }, completed('ended', 1), 'paused'],
  ['ended while idle', { code: 143, paused: 'idle', turn: over('done') }, completed('ended', 143), 'completed'],
  [
    'ended by the ceiling while paused',
    { code: 124, ceilingReached: true, paused: 'outage' },
    completed('ended', 124),
    'paused',
  ],
  // any · Reef ended it, last turn done
  [
    'ended by Reef after its turn',
    { code: 143, ending: linger, turn: over('done') },
    completed('done', 143),
    'completed',
  ],
  [
    'ended by Reef with a code of its own',
    { code: 7, ending: linger, turn: over('done') },
    completed('done', 7),
    'completed',
  ],
  [
    'ended by Reef while the adapter has a complaint',
    { code: 1, ending: linger, turn: over('done'), told: { code: 'agent_error', message: 'no' } },
    completed('done', 1),
    'completed',
  ],
  // 124, 137 · ceiling reached
  [
    'the ceiling, in an open turn',
    { code: 124, ceilingReached: true, turn: open },
    fails('ceiling', 'the job reached its time ceiling', 124),
    'error',
  ],
  [
    'the ceiling, by force',
    { code: 137, ceilingReached: true, turn: failed },
    fails('ceiling', 'the job reached its time ceiling', 137),
    'error',
  ],
  // any · last turn failed
  ['its turn failed, code 0', { code: 0, turn: failed }, fails('agent_error', 'the model said no', 0), 'error'],
  ['its turn failed, code 41', { code: 41, turn: failed }, fails('agent_error', 'the model said no', 41), 'error'],
  [
    'Reef ended it after a failed turn',
    { code: 143, ending: linger, turn: failed },
    fails('agent_error', 'the model said no', 143),
    'error',
  ],
  // 0 · last turn done, interrupted
  ['its turn was done', { code: 0, turn: over('done') }, completed('done', 0), 'completed'],
  ['its turn was interrupted', { code: 0, turn: over('interrupted') }, completed('interrupted', 0), 'completed'],
  // 0 · turn open, or none begun
  ['no word at all, code 0', { code: 0, turn: none }, fails('agent_ended_early', early, 0), 'error'],
  ['in the middle of a turn, code 0', { code: 0, turn: open }, fails('agent_ended_early', early, 0), 'error'],
  // not 0 · signal
  ['a code', { code: 3, turn: none }, fails('agent_exit', 'the agent exited with code 3', 3), 'error'],
  [
    'a code after a turn that was done',
    { code: 3, turn: over('done') },
    fails('agent_exit', 'the agent exited with code 3', 3),
    'error',
  ],
  ['a signal', { code: 139, turn: open }, fails('agent_signalled', 'the agent was ended by SIGSEGV', 139), 'error'],
  [
    '124 without the ceiling is a code like any other',
    { code: 124, turn: open },
    fails('agent_exit', 'the agent exited with code 124', 124),
    'error',
  ],
];

describe('the event that ends a launch', () => {
  for (const [row, given, event, status] of table) {
    verifies('A-32').test(row, () => expect(endOf(given)).toEqual({ event, status }));
  }
});

verifies('A-33').test('what the adapter alone knows about an exit is told', () => {
  const told = { code: 'agent_not_logged_in', message: 'run `claude /login`' } as const;
  expect(endOf({ code: 1, told })).toEqual({ event: fails(told.code, told.message, 1), status: 'error' });
});

test('what Reef ended for a reason fails with that reason', () => {
  const event = fails('output_limit', 'too much', 143);
  expect(endOf({ code: 143, ending: failure, turn: over('done') })).toEqual({ event, status: 'error' });
});

verifies('A-22').test('a process that is gone without a code leaves a stale job', () => {
  expect(endOf({ code: 'unknown', turn: over('done') })).toEqual({
    event: {
      type: 'error',
      payload: {
        code: 'exit_unknown',
        message: 'the process is gone and left no exit code',
        fatal: true,
        scope: 'process',
        retryable: false,
        stderrTail: 'a warning\n',
      },
    },
    status: 'stale',
  });
});

test('the tail of stderr is bounded and says nothing when there was nothing', () => {
  const end: ProcessEnd = { code: 1, ceilingReached: false, at: job.createdAt };
  const of = (stderrTail: string) =>
    terminalEvent({ job, runtime: { ...freshRuntime(), stderrTail }, end, adapter: { finish: () => undefined } });
  const tails = [of('x'.repeat(5000)), of('')].map(({ payload }) => 'stderrTail' in payload && payload.stderrTail);
  expect(tails).toEqual(['x'.repeat(2048), false]);
});

const anyCase: fc.Arbitrary<Case> = fc.record({
  code: fc.oneof(fc.constantFrom(0, 1, 124, 130, 137, 143, 'unknown' as const), fc.nat(255)),
  ceilingReached: fc.boolean(),
  turn: fc.constantFrom(none, open, over('done'), over('interrupted'), over('ended'), failed),
  ending: fc.constantFrom(null, kill, linger, failure, { why: 'idle' } as const, { why: 'limit' } as const),
  paused: fc.constantFrom(undefined, 'idle', 'interrupted', 'rate_limit', 'outage', 'turn_failed'),
});

verifies('A-03').test('whatever happened, it is one valid event of the process that leaves no job running', () => {
  fc.assert(
    fc.property(anyCase, (given) => {
      const { event, status } = endOf(given);
      expect(eventBodySchema.parse(event)).toEqual(event);
      expect(event.payload).toMatchObject({ scope: 'process' });
      const rests = given.paused !== undefined && given.paused !== 'idle' ? ['paused'] : [];
      expect([...rests, 'completed', 'error', 'killed', 'stale']).toContain(status);
    }),
  );
});
