import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTestDoor, type TestDoor } from '../../../../test/support/surfaces/door.ts';
import { openStream, type Stream } from '../../../../test/support/surfaces/event-stream.ts';
import { sampleRun, sampleView } from '../../../../test/support/surfaces/sample-runs.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { eventually, until } from '../../../../test/support/wait.ts';
import { RecordOperations } from '../../../app/record-operations.ts';
import { systemClock } from '../../../base/clock.ts';
import { readEnvironment } from '../../../base/env.ts';
import { homeAt } from '../../../base/home.ts';
import { ChangeSignal } from '../../../events/change-signal.ts';
import { EventLog } from '../../../events/event-log.ts';
import { afterNews } from '../../../protocol/differences.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { RunView } from '../../../protocol/workflow.ts';
import { Store } from '../../../store/store.ts';
import { ToldViews } from '../../../workflow/runs/told-views.ts';

/** The stream over the real store and its log; the daemon behind it is in test/security/door.test.ts. */

let store: Store;
let log: EventLog;
let door: TestDoor;
const signal = new ChangeSignal();
const streams: Stream[] = [];

beforeEach(async () => {
  const dir = temporaryFolder();
  store = new Store(join(dir, 'reef.db'));
  log = new EventLog({ rows: store.events, clock: systemClock, redact: (value) => value });
  door = await open({ stallMs: 300, quietMs: 60_000 });
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await door.close();
  store.close();
});

async function open(stream: { stallMs: number; quietMs: number }): Promise<TestDoor> {
  const home = homeAt(temporaryFolder(), readEnvironment({}), undefined);
  const retention = { prune: () => Promise.reject(new Error('nobody asks for it here')) };
  const keeps = { home, store, log, signal, retention, clock: systemClock, secrets: () => [] };
  const records = new RecordOperations({ ...keeps, redact: (value) => value });
  const { core } = smallCore(undefined, { events: records.events.bind(records), run_follow: followRun });
  return openTestDoor(core, {
    news: { changes: store.changes, signal, lastSeq: () => store.events.lastSeq() },
    limits: { headersMs: 5_000, requestMs: 5_000, burst: 400, perSecond: 200, stream },
  });
}

let view = sampleView();
const told = new ToldViews();
async function followRun({ id, after }: { id: string; after: number }) {
  if (id !== 'R') throw new ReefError('run_not_found', `There is no run ${id}`);
  return { run: sampleRun(), ...told.since(id, after, view) };
}

function append(count: number, size = 1): void {
  store.record(() =>
    log.append(
      'J',
      Array.from({ length: count }, () => ({ type: 'progress', payload: { kind: 'text', text: 'x'.repeat(size) } })),
    ),
  );
  signal.notify();
}

async function follow(asked: Partial<Parameters<typeof openStream>[1]> = {}): Promise<Stream> {
  const stream = await openStream(door.port, { token: door.token, ...asked });
  streams.push(stream);
  return stream;
}

/** Connections that the door still holds, as the kernel lists them. */
function established(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const fields = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  return fields.filter(([, address, , state]) => address === local && state === '01').length;
}

const seqs = (messages: { id?: string }[]) => messages.map(({ id }) => Number.parseInt(id ?? '', 10));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

verifies('U-21').test('each event comes once and in order, across connections that break anywhere', async () => {
  append(450);
  const first = await follow({ since: 0 });
  expect([first.status, first.response.headers['content-type'], first.response.headers['cache-control']]).toEqual([
    200,
    'text/event-stream',
    'no-store',
  ]);
  const [event] = await first.take(1);
  expect(event).toMatchObject({ event: 'job', id: log.cursor(1) });
  expect(JSON.parse(event?.data ?? '')).toEqual(store.events.ofAll({ after: 0, limit: 1 })[0]);
  const got = seqs([{ id: '1' }, ...(await first.take(300))]);
  first.close();
  append(50);
  // The id of the last one wins over the address, which a program asks for again as it was.
  const second = await follow({ since: 0, lastEventId: String(got.at(-1)) });
  got.push(...seqs(await second.take(500 - got.length)));
  append(3);
  got.push(...seqs(await second.take(3)));
  expect(got).toEqual(range(1, 503));
});

verifies('U-21').test('without a cursor it begins now; a cursor that cannot be is refused', async () => {
  append(5);
  const stream = await follow();
  append(1);
  expect(seqs(await stream.take(1))).toEqual([6]);
  for (const [since, status] of [
    ...[['yesterday', 400] as const, ['-1', 400] as const],
    ...[['7', 410] as const, ['999999999999999', 410] as const],
  ])
    expect([since, (await follow({ since })).status]).toEqual([since, status]);
  const odd = await follow({ path: '/v1/events?since=1&token=x' });
  expect([odd.status, await text(odd.response)]).toEqual([400, expect.stringContaining('bad_request')]);
});

verifies('U-21').test('what is no longer kept is told as a gap, which has an id too', async () => {
  const at = new Date(0).toISOString();
  store.record(() =>
    store.events.restore({ seq: 100, timestamp: at, agentId: 'J', type: 'progress', payload: { kind: 'turn', n: 1 } }),
  );
  const stream = await follow({ since: 5 });
  const [gap, event] = await stream.take(2);
  expect([gap, event?.id]).toEqual([{ event: 'gap', id: log.cursor(99), data: '{"from":6,"to":99}' }, log.cursor(100)]);
  expect((await (await follow({ lastEventId: '99' })).take(1))[0]).toMatchObject({ event: 'job', id: log.cursor(100) });
});

verifies('U-21').test('a change says where to look again, without a place in the log', async () => {
  const stream = await follow();
  store.commit(() => {
    store.runs.insert({ id: 'R', worktreeId: '', state: 'waiting', doc: {} });
    store.runs.setWorktree('R', 'W');
    store.worktrees.insert({ id: 'W', repository: '/r', taskId: 'R', status: 'queued', isOpen: true, doc: {} });
    store.journal.append('R', { at: '', kind: 'wait', key: 'k', data: '{}' });
  });
  signal.notify();
  const told = await stream.take(3);
  expect(told).toEqual([
    { event: 'changed', data: '{"kind":"worktree","id":"W"}' },
    { event: 'changed', data: '{"kind":"run","id":"R"}' },
    { event: 'changed', data: '{"kind":"inbox","id":"R"}' },
  ]);
});

verifies('W-81').test(
  'a run that is looked at is told whole or from where it is known, then by what is different',
  async () => {
    const stream = await follow({ path: '/v1/events?run=R' });
    const [first] = await stream.take(1);
    let seen = afterNews<RunView>(undefined, JSON.parse(first?.data ?? ''));
    expect([first?.event, first?.id, seen]).toEqual(['run', undefined, JSON.parse(JSON.stringify(view))]);
    for (let n = 1; n <= 5; n++) {
      view = { ...view, seq: view.seq + 1, visits: { ...view.visits, N__A: n } };
      store.commit(() => store.changes.tell({ kind: 'run', id: 'R' }));
      signal.notify();
    }
    while (seen?.seq !== view.seq) {
      const [message] = await stream.take(1);
      if (message?.event === 'run') seen = afterNews(seen, JSON.parse(message.data ?? ''));
    }
    expect(seen).toEqual(JSON.parse(JSON.stringify(view)));
    const again = await follow({ path: `/v1/events?run=R&after=${view.seq}` });
    const [known] = await again.take(1);
    expect(JSON.parse(known?.data ?? '')).toMatchObject({ from: view.seq, seq: view.seq, differences: [] });
    const statuses = ['?run=other', '?run=R&after=-1'].map((query) => follow({ path: `/v1/events${query}` }));
    expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([404, 400]);
  },
);

test('whoever comes too late for a change is told to look at everything', () => {
  const before = store.changes.version;
  for (let n = 0; n < 1_001; n++) store.changes.tell({ kind: 'run', id: String(n) });
  expect(store.changes.after(before)).toEqual([{ kind: 'run' }, { kind: 'worktree' }, { kind: 'inbox' }]);
  expect(store.changes.after(before + 1)).toHaveLength(1_000);
});

verifies('U-21').test('a stream with nothing to say shows that it is alive', async () => {
  await door.close();
  door = await open({ stallMs: 300, quietMs: 20 });
  const stream = await follow();
  const { value } = await stream.messages.next();
  expect(value).toEqual({ comment: 'still here' });
});

verifies('U-21', 'Q-81').test('readers that take nothing are let go, delay nobody, and lose nothing', async () => {
  const stuck = await Promise.all(Array.from({ length: 12 }, () => follow({ since: 0 })));
  for (const { response } of stuck) response.pause();
  const other = await follow({ since: 0 });
  for (let n = 0; n < 20; n++) append(20, 60_000); // 24 MB, more than the system keeps for a connection
  expect(seqs(await other.take(400))).toEqual(range(1, 400));
  await until('all but one are let go', () => established(door.port) === 1);
  // Who reads on now finds what the system had taken for it, and then the end.
  const got: number[] = [];
  for await (const { id } of stuck[0]?.messages ?? []) got.push(Number.parseInt(id ?? '', 10));
  expect(got).toEqual(range(1, got.length));
  expect(got.length).toBeLessThan(400);
  const again = await follow({ since: 0, lastEventId: String(got.at(-1)) });
  expect(seqs(await again.take(400 - got.length))).toEqual(range(got.length + 1, 400));
});

verifies('U-21', 'Q-81').test('a reader that stands still costs no memory', async () => {
  await door.close();
  door = await open({ stallMs: 60_000, quietMs: 60_000 });
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < 20; n++) append(20, 60_000);
  const used = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1_048_576;
  };
  const reader = await follow({ since: 0 });
  await reader.take(400); // whatever is made once is there now
  const before = used();
  const sockets = Array.from({ length: 16 }, () => connect(door.port, '127.0.0.1').pause());
  for (const socket of sockets) {
    socket.write(
      `GET /v1/events?since=0 HTTP/1.1\r\nhost: 127.0.0.1:${door.port}\r\nauthorization: Bearer ${door.token}\r\n\r\n`,
    );
  }
  // A page of each would be 200 MB.
  await until('all are behind', () => sockets.every(({ bytesWritten }) => bytesWritten > 0));
  await eventually(used, (now) => now - before < 40, { what: 'megabytes', explain: (now) => now - before });
  for (const socket of sockets) socket.destroy();
});

verifies('X-03').test('a token that is taken back ends its open streams', async () => {
  const page = await door.tokens.login(door.tokens.newCode());
  const ended = [await follow(), await follow({ token: page.token })].map(({ messages }) => messages.next());
  await door.tokens.rotate();
  expect(await Promise.all(ended)).toEqual([
    { value: undefined, done: true },
    { value: undefined, done: true },
  ]);
});

test('a stream ends with the door', async () => {
  const stream = await follow();
  const next = stream.messages.next();
  await door.close();
  expect(await next).toEqual({ value: undefined, done: true });
});
