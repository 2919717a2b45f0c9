import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CANARY, TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { EventBody } from '../protocol/events.ts';
import type { Adapter, Effect } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { applyEffects, closeTurn, flushNoise, type Source } from './effects.ts';
import { type Batch, ingest } from './ingest.ts';
import type { JobTransaction } from './job-transaction.ts';
import { noUsage } from './usage.ts';

let storage: TestStorage;
beforeEach(() => {
  storage = new TestStorage(manualClock());
  storage.addJob('J');
});
afterEach(() => storage.close());

const record = (id = 'J') => storage.record(id);
const change = (act: (tx: JobTransaction) => void, id = 'J') => storage.change(id, act);
const source: Source = { stream: 'out', offset: 0, bytes: 10, text: '{"type":"x"}' };
const apply = (...effects: Effect[]) => change((tx) => applyEffects(tx, effects, source));
const events = (id = 'J') => storage.events(id);
const said = (text: string, more = {}): EventBody => ({ type: 'progress', payload: { kind: 'text', text, ...more } });
const piece = (text: string, more: Partial<Extract<Effect, { do: 'text' }>> = {}): Effect => ({
  do: 'text',
  kind: 'text',
  id: 'm1',
  text,
  final: false,
  ...more,
});
const call = (id: string): Effect => ({
  do: 'emit',
  event: { type: 'tool_call', payload: { id, name: 'Bash', tool: 'shell', title: 'ls', input: {} } },
});
const result = (id: string): Effect => ({
  do: 'emit',
  event: { type: 'progress', payload: { kind: 'tool_result', id, ok: true, text: 'a' } },
});
const done: Effect = { do: 'turn', is: 'over', outcome: 'done', result: 'All done.', stopReason: 'end_turn' };

describe('text in pieces', () => {
  verifies('A-05').test('is joined to one event at the end of its message', () => {
    apply(piece('Hel'), piece('lo '));
    apply(piece('world', { final: true }));
    expect(events()).toEqual([said('Hello world')]);
  });

  verifies('A-05').test('of two messages, or two kinds, stays apart', () => {
    apply(
      piece('a'),
      piece('b', { id: 'm2' }),
      piece('c', { id: 'm2', kind: 'thinking' }),
      piece('', { id: 'm3', final: true }),
    );
    expect(events()).toEqual([
      said('a', { delta: true }),
      said('b', { delta: true }),
      { type: 'progress', payload: { kind: 'thinking', text: 'c', delta: true } },
    ]);
  });

  verifies('A-05').test('is told before what happens after it', () => {
    apply(piece('I will look.'), call('t'));
    expect(events().map(({ type }) => type)).toEqual(['progress', 'tool_call']);
  });

  verifies('A-05').test('is told in parts when it grows over 4 KiB', () => {
    for (let n = 0; n < 10; n++) apply(piece('x'.repeat(1000)));
    apply(piece('', { final: true }));
    expect(events()).toEqual([said('x'.repeat(5000), { delta: true }), said('x'.repeat(5000), { delta: true })]);
  });

  verifies('A-05').test('is neither lost, repeated nor mixed up, whatever comes between', () => {
    const anyPiece = fc.record({
      text: fc.oneof(fc.string({ maxLength: 20 }), fc.constant('x'.repeat(3000))),
      id: fc.constantFrom('m1', 'm2'),
      kind: fc.constantFrom('text' as const, 'thinking' as const),
      final: fc.boolean(),
    });
    const anyEffect = fc.oneof(
      anyPiece.map((more) => piece(more.text, more)),
      fc.constantFrom<Effect>(call('t'), result('t'), done, { do: 'answer' }),
    );
    fc.assert(
      fc.property(fc.array(fc.array(anyEffect, { maxLength: 5 }), { maxLength: 8 }), (batches) => {
        const start = storage.store.events.lastSeq();
        for (const effects of batches) apply(...effects);
        change((tx) => closeTurn(tx, 'exit'));
        const told = storage.store.events.ofJob({ jobId: 'J', after: start, limit: 10_000 });
        const texts = told.flatMap(({ payload }) => ('kind' in payload && 'text' in payload ? [payload] : []));
        for (const kind of ['text', 'thinking'] as const) {
          const given = batches
            .flat()
            .flatMap((effect) => (effect.do === 'text' && effect.kind === kind ? effect.text : ''));
          const shown = texts.filter((payload) => payload.kind === kind).map(({ text }) => text);
          expect({ kind, text: shown.join('') }).toEqual({ kind, text: given.join('') });
          expect(shown).not.toContain('');
        }
      }),
      { numRuns: 40 },
    );
  });

  test('of the last message is the final output, whole though it was told in parts', () => {
    apply(piece('an earlier message', { id: 'm0', final: true }));
    apply(piece('x'.repeat(5000)), piece('and the end', { final: true }));
    expect(record().runtime.lastText).toBe(`${'x'.repeat(5000)}and the end`);
  });

  verifies('X-50').test('that shows a secret leaves none in the final output', () => {
    apply(piece(`the key is ${CANARY}`, { final: true }));
    expect(record().runtime.lastText).toBe('the key is [redacted]');
    apply({ ...done, result: `it was ${CANARY}` } as Effect);
    expect(record().runtime.lastText).toBe('it was [redacted]');
  });
});

describe('a tool that was not finished', () => {
  const failed: Effect = { do: 'turn', is: 'failed', code: 'agent_error', message: 'no', retryable: true };
  const interrupted: Effect = { do: 'turn', is: 'over', outcome: 'interrupted', result: '' };
  const closings: [string, 'turn' | 'interrupt' | 'exit', Effect[]][] = [
    ['the end of the turn', 'turn', [done]],
    ['a failed turn', 'turn', [failed]],
    ['an interrupt', 'interrupt', [interrupted]],
    ['a rate limit', 'turn', [{ do: 'limit', message: 'enough' }]],
    ['the exit', 'exit', []],
  ];
  for (const [what, closedBy, effects] of closings) {
    verifies('A-05').test(`is closed by ${what}, once`, () => {
      apply(call('t1'), call('t2'), result('t1'), call('t3'), ...effects);
      change((tx) => closeTurn(tx, 'exit'));
      const results = events().filter(({ payload }) => 'kind' in payload && payload.kind === 'tool_result');
      expect(results.map(({ payload }) => payload)).toEqual([
        { kind: 'tool_result', id: 't1', ok: true, text: 'a' },
        { kind: 'tool_result', id: 't2', ok: false, text: '', closedBy },
        { kind: 'tool_result', id: 't3', ok: false, text: '', closedBy },
      ]);
    });
  }
});

describe('the path of an edit', () => {
  const cases: [string, { path: string; from?: string }, { path: string; from?: string; outside?: true }][] = [
    ['below the folder is relative', { path: '/repo/src/a.ts' }, { path: 'src/a.ts' }],
    ['already relative stays', { path: 'src/a.ts' }, { path: 'src/a.ts' }],
    [
      'that only begins like the folder is outside',
      { path: '/repository/a.ts' },
      { path: '/repository/a.ts', outside: true },
    ],
    ['beside the folder is absolute', { path: '/etc/hosts' }, { path: '/etc/hosts', outside: true }],
    ['with dots in its name is inside', { path: '/repo/..a/b.ts' }, { path: '..a/b.ts' }],
    ['that climbs out is outside', { path: '/repo/../etc/hosts' }, { path: '/etc/hosts', outside: true }],
    ['that climbs out relatively is outside', { path: '../etc/hosts' }, { path: '/etc/hosts', outside: true }],
    ['that takes a detour is short', { path: './src/../a.ts' }, { path: 'a.ts' }],
    ['it came from is relative too', { path: '/repo/b.ts', from: '/repo/a.ts' }, { path: 'b.ts', from: 'a.ts' }],
    ['it came from may lie outside', { path: '/repo/b.ts', from: '/tmp/a.ts' }, { path: 'b.ts', from: '/tmp/a.ts' }],
  ];
  for (const [what, given, shown] of cases) {
    verifies('A-06').test(what, () => {
      apply({ do: 'emit', event: { type: 'file_edit', payload: { id: 't', kind: 'update', ...given } } });
      expect(events()).toEqual([{ type: 'file_edit', payload: { id: 't', kind: 'update', ...shown } }]);
    });
  }
});

describe('what is not understood', () => {
  verifies('A-55', 'Q-63').test('is kept by reference and counted, and the rest of its message still counts', () => {
    const text = `{"type":"hologram","text":"${'ü'.repeat(2000)}"}`;
    change((tx) =>
      applyEffects(tx, [{ do: 'unknown', name: 'hologram' }, { do: 'answer' }], { ...source, offset: 512, text }),
    );
    expect({ events: events(), count: record().job.unknownMessages, status: record().job.status }).toEqual({
      events: [
        { type: 'progress', payload: { kind: 'raw', name: 'hologram', ref: '1/out@512', text: expect.any(String) } },
        { type: 'progress', payload: { kind: 'turn', n: 1 } },
      ],
      count: 1,
      status: 'running',
    });
    expect(Buffer.byteLength(rawOf(events()[0]))).toBeLessThanOrEqual(1024);
  });

  verifies('A-54', 'Q-61').test('is an error of the line with a bounded piece of it, and the job goes on', () => {
    ingestOut(
      'Error: something broke 🪸'.padEnd(3000, '🪸'),
      '{"type":"system","subtype":"session_state_changed","state":"idle"}',
    );
    const [error] = events();
    expect(error).toEqual({
      type: 'error',
      payload: {
        code: 'bad_line',
        message: expect.stringContaining('not a line of the protocol'),
        fatal: false,
        scope: 'line',
        retryable: false,
        raw: expect.stringMatching(/^Error: something broke/),
        ref: '1/out@0',
      },
    });
    expect(Buffer.byteLength(rawOf(error))).toBeLessThanOrEqual(1024);
    expect(record().job.status).toBe('running');
  });

  verifies('Q-61').test('beyond 20 a minute is told as a count, with the next minute or the end', async () => {
    ingestOut(...Array.from({ length: 25 }, (_, n) => `not json ${n}`));
    const first = events().length;
    await storage.clock.advance(60_000);
    ingestOut('not json again');
    const [hidden, shown] = events().slice(first);
    ingestOut(...Array.from({ length: 22 }, (_, n) => `not json ${n}`));
    change((tx) => flushNoise(tx));
    change((tx) => flushNoise(tx));
    const warning = (count: number): EventBody => ({
      type: 'progress',
      payload: { kind: 'warning', message: `${count} more lines like these were not shown`, count },
    });
    expect({ first, hidden, shown: shown?.type, last: events().at(-1), all: events().length }).toEqual({
      first: 20,
      hidden: warning(5),
      shown: 'error',
      last: warning(3),
      all: 20 + 1 + 20 + 1,
    });
  });

  verifies('A-34').test('on stderr is a warning, 20 a minute, then a count; its tail is kept', () => {
    ingestErr(...Array.from({ length: 30 }, (_, n) => `warning ${n}`));
    change((tx) => flushNoise(tx));
    const shown = Array.from({ length: 20 }, (_, n) => ({ kind: 'warning', message: `warning ${n}` }));
    expect(events().map(({ payload }) => payload)).toEqual([
      ...shown,
      { kind: 'warning', message: '10 more lines like these were not shown', count: 10 },
    ]);
    expect(record().runtime.stderrTail).toMatch(/warning 28\nwarning 29\n$/);
  });

  verifies('X-50').test('shows no part of a secret where it is cut', () => {
    const lead = 'x'.repeat(1020 - 'not json '.length);
    ingestOut(`not json ${lead}${CANARY} and more`, CANARY, `{"a":${CANARY}}`);
    ingestErr(`${'x'.repeat(1020)}${CANARY} and more`, 'y'.repeat(4096 - 20 - ' and more\n'.length));
    change((tx) =>
      applyEffects(tx, [{ do: 'unknown', name: 'x' }], { ...source, text: `${'z'.repeat(1020)}${CANARY}` }),
    );
    const all = JSON.stringify([events(), record()]);
    expect(['cana', 'secret', CANARY.slice(-12)].filter((part) => all.includes(part))).toEqual([]);
  });
});

const rawOf = (event: EventBody | undefined): string => {
  const payload = (event?.payload ?? {}) as { raw?: string; text?: string };
  return payload.raw ?? payload.text ?? '';
};
const generic = claudeAdapter as unknown as Adapter;
const toLines = (texts: string[]) => texts.map((text, offset) => ({ text, offset, bytes: text.length + 1 }));
const batchOf = (out: string[], err: string[]): Batch => ({
  out: toLines(out),
  err: toLines(err),
  read: { out: 100 + out.length, err: 200 + err.length },
  isFull: false,
});
function ingestBatch(batch: Batch, id = 'J'): void {
  change((tx) => {
    tx.runtime.adapter ??= generic.initial(
      { jobId: id, cwd: '/repo', freshSessionId: 'f', prompt: '', clientVersion: '0' },
      { command: ['/bin/claude'], agentSandbox: true, settings: {} },
    );
    ingest(tx, generic, batch);
  }, id);
}
const ingestOut = (...lines: string[]) => ingestBatch(batchOf(lines, []));
const ingestErr = (...lines: string[]) => ingestBatch(batchOf([], lines));

describe('a batch of lines', () => {
  test('is stored with how far it was read', () => {
    ingestBatch(batchOf(['not json'], ['a warning']));
    expect(record().runtime).toMatchObject({ read: { out: 101, err: 201 }, stderrTail: 'a warning\n' });
  });

  verifies('Q-64').test('that breaks an adapter marks its own job and no other', () => {
    storage.addJob('K');
    const broken: Adapter = {
      ...generic,
      parse: () => {
        throw new TypeError('cannot read properties of undefined');
      },
    };
    change((tx) => ingest(tx, broken, batchOf(['{"type":"system"}'], [])));
    expect([record('J').runtime.ending, record('K').runtime.ending]).toEqual([
      {
        why: 'failure',
        fails: { code: 'adapter_failed', message: 'the adapter of claude failed: cannot read properties of undefined' },
      },
      null,
    ]);
  });

  test('with one over 16 MiB is told of that line and goes on with the next', () => {
    const hello = '{"type":"system","subtype":"init","session_id":"s","cwd":"/repo","model":"m"}';
    const [long, next] = toLines(['{"a":"…[cut 99 bytes]…"}', hello]);
    if (!long || !next) throw new Error('two lines');
    const out = [{ ...long, truncated: true as const }, next];
    ingestBatch({ ...batchOf([], []), out });
    expect(
      events().map(({ payload }) => ('code' in payload ? payload.message : 'kind' in payload && payload.kind)),
    ).toEqual([expect.stringMatching(/^not a line of the protocol: longer than 16 MiB/), 'session']);
  });
});

describe("the agent's hello", () => {
  const hello = (more = {}): Effect => ({
    do: 'session',
    sessionId: 's1',
    model: 'opus',
    agentVersion: '2.1',
    cwd: '/repo',
    ...more,
  });
  const told: EventBody = {
    type: 'progress',
    payload: { kind: 'session', sessionId: 's1', model: 'opus', agentVersion: '2.1', cwd: '/repo' },
  };

  test('is told once a launch, however often it is repeated, and its session is kept', () => {
    apply(hello());
    apply(hello());
    const { sessionId, agentVersion } = record().job;
    expect({ events: events(), sessionId, agentVersion }).toEqual({
      events: [told],
      sessionId: 's1',
      agentVersion: '2.1',
    });
  });

  test('from another folder ends a resumed job before a tool runs', () => {
    change((tx) => {
      tx.job.launch = 2;
    });
    apply(hello({ cwd: '/elsewhere' }));
    expect(record().runtime.ending).toEqual({
      why: 'failure',
      fails: { code: 'cwd_mismatch', message: 'the agent resumed in /elsewhere, the job belongs to /repo' },
    });
  });

  test('from its own folder ends nothing, nor does one of a first launch', () => {
    apply(hello({ cwd: '/elsewhere' }));
    change((tx) => {
      tx.job.launch = 2;
      tx.runtime.wasGreeted = false;
    });
    apply(hello());
    expect(record().runtime.ending).toBe(null);
  });
});

describe('a turn', () => {
  verifies('A-17').test('that meets a limit pauses the job, says until when, and lets its process go', () => {
    apply({ do: 'turn', is: 'begun' }, piece('working'), {
      do: 'limit',
      message: 'enough',
      resumeAt: '2026-01-01T05:00:00Z',
    });
    const { job, runtime } = record();
    expect({
      events: events(),
      status: job.status,
      reason: job.reason,
      resumeAt: job.resumeAt,
      ending: runtime.ending,
    }).toEqual({
      events: [
        said('working', { delta: true }),
        { type: 'progress', payload: { kind: 'rate_limit', message: 'enough', resumeAt: '2026-01-01T05:00:00Z' } },
      ],
      status: 'paused',
      reason: 'rate_limit',
      resumeAt: '2026-01-01T05:00:00Z',
      ending: { why: 'limit' },
    });
  });

  test('that is over tells its outcome, its result, its usage and how long it took', async () => {
    apply({ do: 'turn', is: 'begun' });
    await storage.clock.advance(1500);
    const tokens = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' as const };
    apply({ do: 'usage', report: { tokens, partial: false } }, done);
    const usage = { ...noUsage, input: 7, output: 3 };
    expect({ events: events(), lastText: record().runtime.lastText, turn: record().runtime.turn }).toEqual({
      events: [
        { type: 'progress', payload: { kind: 'usage', usage } },
        {
          type: 'completed',
          payload: {
            scope: 'turn',
            outcome: 'done',
            result: 'All done.',
            usage,
            durationMs: 1500,
            stopReason: 'end_turn',
          },
        },
      ],
      lastText: 'All done.',
      turn: { is: 'over', outcome: 'done' },
    });
  });

  test('that fails is an error of the turn, not of the job', () => {
    apply(
      { do: 'turn', is: 'begun' },
      { do: 'turn', is: 'failed', code: 'agent_error', message: 'no', retryable: true, status: 500 },
    );
    const payload = { code: 'agent_error', message: 'no', fatal: false, scope: 'turn', retryable: true, status: 500 };
    expect({ events: events(), status: record().job.status }).toEqual({
      events: [{ type: 'error', payload }],
      status: 'running',
    });
  });
});

verifies('A-51').test("a line of the adapter's own is in the outbox once, though its cause were read twice", () => {
  const write: Effect = { do: 'write', line: '{"id":1,"method":"initialized"}' };
  apply(write, write);
  apply(write, write);
  change((tx) => applyEffects(tx, [write], { ...source, offset: 10 }));
  const rows = storage.store.outbox.open('J').map(({ key, state, doc }) => ({ key, state, doc }));
  const doc = { kind: 'line', line: '{"id":1,"method":"initialized"}' };
  expect(rows).toEqual([
    { key: 'J:1:out:0:0', state: 'new', doc },
    { key: 'J:1:out:0:1', state: 'new', doc },
    { key: 'J:1:out:10:0', state: 'new', doc },
  ]);
});
