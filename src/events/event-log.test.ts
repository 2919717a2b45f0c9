import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createRedactor, redactDeep } from '../base/redact.ts';
import type { AgentEvent, EventBody } from '../protocol/events.ts';
import { Store } from '../store/store.ts';
import { EventLog } from './event-log.ts';

const START = '2026-01-01T00:00:00.000Z';
const CANARY = 'canary-7f3a/9"b+secret';

let dir: string;
let store: Store;
let clock: ReturnType<typeof manualClock>;
let log: EventLog;
beforeEach(() => {
  dir = temporaryFolder();
  store = new Store(join(dir, 'reef.db'));
  clock = manualClock(new Date(START));
  const redact = createRedactor([CANARY]);
  log = new EventLog({ rows: store.events, clock, redact: (value) => redactDeep(redact, value) });
});
afterEach(() => store.close());

const says = (text: string): EventBody => ({ type: 'progress', payload: { kind: 'text', text } });
const append = (jobId: string, ...bodies: EventBody[]) => store.record(() => log.append(jobId, bodies));
const all = (jobId: string) => store.events.ofJob({ jobId, after: 0, limit: 100_000 });

/** Reads on from each page's cursor until there is no more. */
function readPages(jobId: string, limit: number, since?: string): AgentEvent[] {
  const events: AgentEvent[] = [];
  let cursor = since;
  for (let pages = 0; pages < 10_000; pages++) {
    const page = log.slice({ jobId, since: cursor, limit });
    events.push(...page.events);
    if (!page.truncated) return events;
    cursor = page.nextCursor;
  }
  throw new Error('the pages do not end');
}

describe('appending', () => {
  verifies('A-01', 'A-62').test(
    'an event gets its place, its time and its job, and is read back as it was given',
    () => {
      const events = append('J', says('one'), { type: 'file_edit', payload: { id: 't', path: 'a.ts', kind: 'add' } });
      const expected = [
        { seq: 1, timestamp: START, agentId: 'J', ...says('one') },
        { seq: 2, timestamp: START, agentId: 'J', type: 'file_edit', payload: { id: 't', path: 'a.ts', kind: 'add' } },
      ];
      expect({ events, stored: all('J') }).toEqual({ events: expected, stored: expected });
    },
  );

  test('seq counts all jobs of a home together, without gaps', () => {
    append('A', says('1'));
    append('B', says('2'), says('3'));
    append('A', says('4'));
    expect([all('A'), all('B')].map((events) => events.map(({ seq }) => seq))).toEqual([
      [1, 4],
      [2, 3],
    ]);
  });

  const broken: [string, unknown, string][] = [
    ['an unknown type', { type: 'finished', payload: {} }, 'finished: type'],
    ['an unknown kind', { type: 'progress', payload: { kind: 'mood', text: 'x' } }, 'progress: payload.kind'],
    ['a field that is missing', { type: 'progress', payload: { kind: 'text' } }, 'progress: payload.text'],
    [
      'a field that is too many',
      { type: 'progress', payload: { kind: 'text', text: 'x', mood: 1 } },
      'progress: payload',
    ],
    ['a value of the wrong type', { type: 'tool_call', payload: { id: 0 } }, 'tool_call: payload.id'],
    ['no payload at all', { type: 'progress' }, 'progress: payload'],
  ];
  for (const [what, body, pointer] of broken) {
    verifies('A-01').test(`${what} is stored as bad_event that points to it`, () => {
      const [event] = append('J', body as EventBody);
      expect({ event, stored: all('J') }).toEqual({
        event: {
          seq: 1,
          timestamp: START,
          agentId: 'J',
          type: 'error',
          payload: {
            code: 'bad_event',
            message: expect.stringContaining(pointer),
            fatal: false,
            scope: 'line',
            retryable: false,
            raw: expect.any(String),
          },
        },
        stored: [event],
      });
    });
  }

  verifies('X-50').test('a secret is found wherever it stands in a payload, keys and nested values included', () => {
    const forms = {
      plain: `it is ${CANARY}.`,
      list: ['x', [{ deep: CANARY }]],
      json: JSON.stringify({ token: CANARY }),
      twice: JSON.stringify(JSON.stringify({ token: CANARY })),
      url: `https://host/?q=${encodeURIComponent(CANARY)}`,
      base64: Buffer.from(`user:${CANARY}`).toString('base64'),
      [CANARY]: 'as a key',
    };
    append(
      'J',
      says(CANARY),
      { type: 'tool_call', payload: { id: 't', name: 'Bash', tool: 'shell', title: CANARY, input: forms } },
      { type: 'progress', payload: { kind: 'tool_result', id: 't', ok: true, text: `TOKEN=${CANARY}\n` } },
      { type: 'progress', payload: { kind: 'mood', text: CANARY } } as unknown as EventBody,
    );
    const stored = JSON.stringify(all('J'));
    const leaks = [
      CANARY,
      'canary-7f3a',
      encodeURIComponent(CANARY),
      Buffer.from(CANARY).toString('base64').slice(4, 20),
    ];
    expect(leaks.filter((leak) => stored.includes(leak))).toEqual([]);
    expect(all('J').map(({ type }) => type)).toEqual(['progress', 'tool_call', 'progress', 'error']);
  });

  verifies('X-50').test('what is kept of a bad event is redacted before it is cut', () => {
    const lead = 'x'.repeat(1024 - 14 - 'canary-7f3a'.length);
    append('J', { type: 'progress', payload: { mood: `${lead}${CANARY}` } } as unknown as EventBody);
    expect(JSON.stringify(all('J'))).not.toContain('canary');
  });

  test('an excerpt is the beginning, the end or nothing of a text, without what is secret in it', () => {
    const text = `begins ${CANARY} ends`;
    expect([6, -4, 0].map((length) => log.excerpt(text, length))).toEqual(['begins', 'ends', '']);
    expect([log.excerpt(text, 100), log.excerpt(text, -100)].join()).not.toContain(CANARY);
  });

  test('a payload is cut to 64 KiB, and says so where it was cut', () => {
    const text = 'ü'.repeat(500_000);
    const [event] = append('J', says(text));
    const size = Buffer.byteLength(JSON.stringify(event?.payload));
    expect({ fits: size <= 64 * 1024, isFull: size > 63 * 1024, stored: all('J') }).toEqual({
      fits: true,
      isFull: true,
      stored: [event],
    });
    expect(event?.payload).toEqual({ kind: 'text', text: expect.stringMatching(/…\[cut \d+ bytes\]$/) });
  });

  test('a payload made large by many entries is cut as well, and its short fields stay', () => {
    const input = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n]));
    const [event] = append('J', { type: 'tool_call', payload: { id: 't', name: 'X', tool: 'mcp', title: 'X', input } });
    expect(Buffer.byteLength(JSON.stringify(event?.payload))).toBeLessThanOrEqual(64 * 1024);
    expect(event?.payload).toMatchObject({ id: 't', name: 'X', tool: 'mcp', title: 'X' });
  });
});

describe('reading', () => {
  verifies('Q-04', 'A-62').test('pages of any size, of any mix of jobs, concatenate to the log', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('A', 'B', 'C'), { maxLength: 40 }),
        fc.integer({ min: 1, max: 50 }),
        (jobs, limit) => {
          const start = store.events.lastSeq();
          for (const job of jobs) append(job, says(job));
          for (const job of ['A', 'B', 'C']) {
            const expected = all(job).filter(({ seq }) => seq > start);
            expect(readPages(job, limit, String(start))).toEqual(expected);
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  verifies('Q-04').test('a page names where the next begins, and an empty one stays where it was', () => {
    append('J', says('1'), says('2'), says('3'));
    const pages = [
      log.slice({ jobId: 'J', limit: 2 }),
      log.slice({ jobId: 'J', since: '2', limit: 2 }),
      log.slice({ jobId: 'J', since: '3', limit: 2 }),
    ].map(({ events, ...rest }) => ({ seqs: events.map(({ seq }) => seq), ...rest }));
    expect(pages).toEqual([
      { seqs: [1, 2], nextCursor: log.cursor(2), truncated: true },
      { seqs: [3], nextCursor: log.cursor(3), truncated: false },
      { seqs: [], nextCursor: log.cursor(3), truncated: false },
    ]);
  });

  verifies('J-41').test('a cursor of another log is told, and its number alone is taken as before', () => {
    append('J', says('1'), says('2'));
    const of = (since: string) => () => log.slice({ jobId: 'J', since, limit: 2 }).events.map(({ seq }) => seq);
    expect([of(log.cursor(1))(), of('1')()]).toEqual([[2], [2]]);
    const other = log.cursor(1).replace(/\.(.)/, (_, digit: string) => (digit === '0' ? '.1' : '.0'));
    expect(of(other)).toThrow(expect.objectContaining({ code: 'cursor_unknown' }));
  });

  verifies('Q-04', 'A-62').test('a seq is exclusive, an instant inclusive', async () => {
    append('J', says('1'));
    await clock.advance(1000);
    append('J', says('2'));
    await clock.advance(1000);
    append('J', says('3'));
    const seqs = (since: string) => log.slice({ jobId: 'J', since, limit: 10 }).events.map(({ seq }) => seq);
    const cursors = [
      '2',
      '2026-01-01T00:00:01.000Z',
      '2026-01-01T00:00:01.001Z',
      '2026-01-01T01:00:01+01:00',
      '2027-01-01',
    ];
    expect(cursors.map(seqs)).toEqual([[3], [2, 3], [3], [2, 3], []]);
  });

  verifies('Q-04').test('who reads from an instant that is still to come gets the very next event', () => {
    append('J', says('1'));
    const { events, nextCursor } = log.slice({ jobId: 'J', since: '2027-01-01', limit: 10 });
    append('J', says('2'));
    const next = log.slice({ jobId: 'J', since: nextCursor, limit: 10 }).events.map(({ seq }) => seq);
    expect([events, nextCursor, next]).toEqual([[], log.cursor(1), [2]]);
  });

  verifies('Q-04').test('when the clock goes back, a time cursor repeats rather than loses', async () => {
    append('J', says('1'));
    await clock.advance(60_000);
    append('J', says('2'));
    clock.jumpWall(-86_400_000);
    append('J', says('3'));
    clock.jumpWall(2 * 86_400_000);
    append('J', says('4'));
    const since = (at: string) => log.slice({ jobId: 'J', since: at, limit: 10 }).events.map(({ seq }) => seq);
    expect([since('2026-01-01T00:00:30Z'), since('2025-12-31T00:00:00Z')]).toEqual([
      [2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  verifies('A-145').test('100 events of one millisecond, paged by time or by seq, are 100 events', () => {
    for (let n = 0; n < 100; n++) append(n % 2 === 0 ? 'J' : 'K', says(String(n)));
    append('J', ...Array.from({ length: 50 }, (_, n) => says(`more ${n}`)));
    const read = [1, 7, 33, 100, 1000].flatMap((limit) => [readPages('J', limit), readPages('J', limit, START)]);
    const instants = new Set(all('J').map(({ timestamp }) => timestamp));
    expect(instants).toEqual(new Set([START]));
    expect(all('J')).toHaveLength(100);
    expect(read).toEqual(Array.from({ length: 10 }, () => all('J')));
  });

  test('who begins at the end reads backwards, page by page, and misses nothing', () => {
    for (const text of ['1', '2', '3', '4', '5']) append('J', says(text));
    append('other', says('6'));
    const back = (before: number) => {
      const { events, truncated } = log.before({ jobId: 'J', before, limit: 2 });
      return { seqs: events.map(({ seq }) => seq), truncated };
    };
    expect([back(Number.MAX_SAFE_INTEGER), back(4), back(2), back(1)]).toEqual([
      { seqs: [4, 5], truncated: true },
      { seqs: [2, 3], truncated: true },
      { seqs: [1], truncated: false },
      { seqs: [], truncated: false },
    ]);
  });

  verifies('Q-04').test('what is no cursor is bad_cursor', () => {
    expect(() => log.slice({ jobId: 'J', since: 'last week', limit: 1 })).toThrow(
      expect.objectContaining({ code: 'bad_cursor' }),
    );
  });
});

test('before the first event there is nothing, and a reader goes on from the beginning', () => {
  expect(log.before({ jobId: 'J', before: 10, limit: 5 })).toEqual({
    events: [],
    nextCursor: log.cursor(0),
    truncated: false,
  });
});
