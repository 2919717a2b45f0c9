import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RequirementId } from '../../test/requirements.ts';
import { aQuestion } from '../../test/support/job-storage.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { EventBody } from '../protocol/events.ts';
import { foldStatus, isLive, type StatusState } from './job-status.ts';
import { noUsage } from './usage.ts';

const started: EventBody = {
  type: 'started',
  payload: {
    agent: 'claude',
    mode: 'headless',
    cwd: '/repo',
    pid: 7,
    command: [],
    sandbox: 'none',
    launch: 1,
    resumed: false,
  },
};
const asks = (questionId: string): EventBody => ({ type: 'needs_input', payload: aQuestion(questionId) });
const answered = (questionId: string): EventBody => ({
  type: 'input_sent',
  payload: { messageId: 'm', questionId, by: 'me' },
});
const withdrawn = (questionId: string): EventBody => ({
  type: 'progress',
  payload: { kind: 'withdrawn', questionId, by: 'agent' },
});
const completed = (scope: 'turn' | 'process', outcome: 'done' | 'interrupted' | 'killed' | 'ended'): EventBody => ({
  type: 'completed',
  payload: { scope, outcome, result: '', usage: noUsage, durationMs: 1 },
});
const fails = (scope: 'line' | 'turn' | 'process', code: string): EventBody => ({
  type: 'error',
  payload: { code, message: 'no', fatal: scope === 'process', scope, retryable: false },
});

/** Every kind of event there is; those that never say anything about the status stand together in `silent`. */
const events = {
  queued: { type: 'progress', payload: { kind: 'queued', position: 1 } },
  started,
  'needs_input b': asks('b'),
  'message taken': { type: 'input_sent', payload: { messageId: 'm', text: 'go on', by: 'me' } },
  'answer to a taken': answered('a'),
  'a withdrawn': withdrawn('a'),
  'a answered by a grant': { type: 'progress', payload: { kind: 'auto_answered', questionId: 'a', grant: 'yes' } },
  'turn done': completed('turn', 'done'),
  'turn ended': completed('turn', 'ended'),
  'turn interrupted': completed('turn', 'interrupted'),
  'turn failed': fails('turn', 'agent_error'),
  'rate limit': { type: 'progress', payload: { kind: 'rate_limit' } },
  outage: { type: 'progress', payload: { kind: 'outage', message: 'torn' } },
  'model answered': { type: 'progress', payload: { kind: 'turn', n: 1 } },
  'exit done': completed('process', 'done'),
  'exit interrupted': completed('process', 'interrupted'),
  'exit ended': completed('process', 'ended'),
  'exit killed': completed('process', 'killed'),
  'exit failed': fails('process', 'agent_exit'),
  'exit over budget': fails('process', 'budget_exhausted'),
  'exit unknown': fails('process', 'exit_unknown'),
} satisfies Record<string, EventBody>;
type EventName = keyof typeof events;

const silent: Record<string, EventBody> = {
  text: { type: 'progress', payload: { kind: 'text', text: 'Is that all right?' } },
  thinking: { type: 'progress', payload: { kind: 'thinking', text: 'hm' } },
  'tool result': { type: 'progress', payload: { kind: 'tool_result', id: 't', ok: true, text: '' } },
  session: { type: 'progress', payload: { kind: 'session', sessionId: 's' } },
  'another try': { type: 'progress', payload: { kind: 'retry', attempt: 1, message: 'again' } },
  usage: { type: 'progress', payload: { kind: 'usage', usage: noUsage } },
  budget: { type: 'progress', payload: { kind: 'budget', what: 'turns', used: 8, limit: 10 } },
  plan: { type: 'progress', payload: { kind: 'plan', entries: [] } },
  subagent: { type: 'progress', payload: { kind: 'subagent', id: 's', state: 'running' } },
  warning: { type: 'progress', payload: { kind: 'warning', message: 'careful' } },
  raw: { type: 'progress', payload: { kind: 'raw', name: 'new', ref: '1/out@0' } },
  'tool call': { type: 'tool_call', payload: { id: 't', name: 'Bash', tool: 'shell', title: 'ls', input: {} } },
  'file edit': { type: 'file_edit', payload: { id: 't', path: 'a', kind: 'add' } },
  'bad line': fails('line', 'bad_line'),
  'bad event': fails('line', 'bad_event'),
};

const queued: StatusState = { status: 'queued', open: [] };
const running: StatusState = { status: 'running', open: [] };
const waiting = (...open: string[]): StatusState => ({ status: 'awaiting_input', open });
const paused = (reason: StatusState['reason']): StatusState => ({
  status: 'paused',
  ...(reason && { reason }),
  open: [],
});
const over: StatusState = { status: 'completed', open: [] };
const failed: StatusState = { status: 'error', open: [] };
const spent: StatusState = { status: 'error', reason: 'budget_exhausted', open: [] };
const killed: StatusState = { status: 'killed', open: [] };
const stale: StatusState = { status: 'stale', reason: 'exit_unknown', open: [] };

/** What ends a launch ends it from every live state. */
const ends = {
  'exit done': over,
  'exit interrupted': over,
  'exit ended': over,
  'exit killed': killed,
  'exit failed': failed,
  'exit over budget': spent,
  'exit unknown': stale,
};
const limits = { 'rate limit': paused('rate_limit'), outage: paused('outage') };

interface Row {
  proves: readonly [RequirementId, ...RequirementId[]];
  from: StatusState;
  /** What changes it; every other event leaves it as it is. */
  to: Partial<Record<EventName, StatusState>>;
  /** The same for a job with `keep`, where it differs. */
  kept?: Partial<Record<EventName, StatusState>>;
}

const idle = { 'turn done': paused('idle'), 'turn ended': paused('idle'), 'turn failed': paused('turn_failed') };
const stays = (state: StatusState) => ({ ...ends, 'exit ended': state });

const table: Record<string, Row> = {
  queued: { proves: ['A-11', 'A-12', 'A-21', 'A-22'], from: queued, to: { ...ends, started: running } },
  running: {
    proves: ['A-13', 'A-16', 'A-17', 'A-19', 'A-21', 'A-22'],
    from: running,
    to: { ...ends, ...limits, 'needs_input b': waiting('b'), 'turn interrupted': paused('interrupted') },
    kept: idle,
  },
  'awaiting one answer': {
    proves: ['A-14', 'A-15', 'A-16', 'A-19', 'A-21', 'A-22'],
    from: waiting('a'),
    to: {
      ...ends,
      ...limits,
      'needs_input b': waiting('a', 'b'),
      'answer to a taken': running,
      'a withdrawn': running,
      'a answered by a grant': running,
      'turn interrupted': paused('interrupted'),
    },
  },
  'awaiting two answers': {
    proves: ['A-14', 'A-15', 'A-16', 'A-19', 'A-21', 'A-22'],
    from: waiting('a', 'c'),
    to: {
      ...ends,
      ...limits,
      'needs_input b': waiting('a', 'c', 'b'),
      'answer to a taken': waiting('c'),
      'a withdrawn': waiting('c'),
      'a answered by a grant': waiting('c'),
      'turn interrupted': paused('interrupted'),
    },
  },
  ...Object.fromEntries(
    (['interrupted', 'rate_limit', 'outage', 'turn_failed'] as const).map((reason): [string, Row] => [
      `paused ${reason}`,
      {
        proves: ['A-13', 'A-18', 'A-20', 'A-21', 'A-22'],
        from: paused(reason),
        to: { ...stays(paused(reason)), ...limits, queued, 'needs_input b': waiting('b'), 'message taken': running },
      },
    ]),
  ),
  'paused idle': {
    proves: ['A-13', 'A-18', 'A-20', 'A-21', 'A-22'],
    from: paused('idle'),
    to: {
      ...ends,
      ...limits,
      queued,
      'needs_input b': waiting('b'),
      'message taken': running,
      'model answered': running,
    },
  },
  completed: { proves: ['A-23'], from: over, to: { queued } },
  error: { proves: ['A-23'], from: failed, to: { queued } },
  'error budget_exhausted': { proves: ['A-23'], from: spent, to: { queued } },
  stale: { proves: ['A-23'], from: stale, to: { queued } },
  killed: { proves: ['A-23'], from: killed, to: {} },
};

const names = Object.keys(events) as EventName[];

describe.each(Object.entries(table))('a job that is %s', (_, { proves, from, to, kept }) => {
  verifies(...proves).test('changes on the events of its row and on no other', () => {
    const after = names.map((name) => [name, foldStatus(from, events[name], { keep: false })]);
    expect(after).toEqual(names.map((name) => [name, to[name] ?? from]));
    const afterKept = names.map((name) => [name, foldStatus(from, events[name], { keep: true })]);
    expect(afterKept).toEqual(names.map((name) => [name, { ...to, ...kept }[name] ?? from]));
  });

  test('is not changed by what it says or does', () => {
    const after = Object.entries(silent).map(([name, event]) => [name, foldStatus(from, event, { keep: true })]);
    expect(after).toEqual(Object.keys(silent).map((name) => [name, from]));
  });
});

verifies('A-25').test('four statuses make up the list of those that are over', () => {
  const statuses = ['queued', 'running', 'awaiting_input', 'paused', 'completed', 'error', 'killed', 'stale'] as const;
  expect(statuses.filter((status) => !isLive(status))).toEqual(['completed', 'error', 'killed', 'stale']);
});

const anyEvent = fc.oneof(
  fc.constantFrom(...Object.values(events), ...Object.values(silent)),
  fc.constantFrom('a', 'b', 'c').chain((id) => fc.constantFrom(asks(id), answered(id), withdrawn(id))),
);
const anyHistory = fc.record({ keep: fc.boolean(), history: fc.array(anyEvent, { maxLength: 60 }) });
const fold = (job: { keep: boolean }, history: EventBody[], from = queued) =>
  history.reduce((state, event) => foldStatus(state, event, job), from);

verifies('A-04').test('the fold of a prefix, stored and taken up again with the rest, is the fold of all', () => {
  fc.assert(
    fc.property(anyHistory, fc.nat(60), ({ keep, history }, cut) => {
      const stored = JSON.parse(JSON.stringify(fold({ keep }, history.slice(0, cut)))) as StatusState;
      expect(fold({ keep }, history.slice(cut), stored)).toEqual(fold({ keep }, history));
    }),
  );
});

verifies('A-04').test('a job awaits input exactly while a question is open, and a killed one stays killed', () => {
  fc.assert(
    fc.property(anyHistory, ({ keep, history }) => {
      let state = queued;
      for (const event of history) {
        const before = state;
        state = foldStatus(before, event, { keep });
        expect(state.status === 'awaiting_input').toBe(state.open.length > 0);
        if (before.status === 'killed') expect(state).toEqual(before);
      }
    }),
  );
});
