import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { fixture, PATH, textOf } from '../../../test/support/programs.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { createLogger } from '../../base/log.ts';
import { EventLog } from '../../events/event-log.ts';
import { probeCapabilities } from '../../process/capabilities.ts';
import { launchTerminal, openTerminal } from '../../process/terminal.ts';
import { endTree } from '../../process/tree.ts';
import type { Job } from '../../protocol/jobs.ts';
import { GrantsFile } from '../../runtime/config/grants-file.ts';
import type { JobRecord } from '../../store/job-table.ts';
import { Store } from '../../store/store.ts';
import type { Adapter } from '../adapter.ts';
import { AgentHome } from '../agent-state.ts';
import { claudeAdapter } from '../claude/adapter.ts';
import { freshRuntime, type JobRuntime } from '../job-runtime.ts';
import { type JobStorage, JobTransaction } from '../job-transaction.ts';
import { LiveJob } from '../live-job.ts';
import { enqueueInterrupt, enqueueMessage, type OutboxDoc } from '../outbox.ts';
import { GuardedFolders } from '../sandbox.ts';
import { defaultTimings } from '../timings.ts';
import { noUsage } from '../usage.ts';
import { Keyboard } from './keyboard.ts';

const capabilities = await probeCapabilities();
const proves: typeof verifies = (...ids) =>
  verifies(...ids).needs(capabilities.tmux !== undefined, 'tmux is not installed');

const ID = 'J';
const clock = manualClock();
let dir: string;
let storage: JobStorage;
beforeEach(() => {
  dir = temporaryFolder();
  const store = new Store(join(dir, 'reef.db'));
  const log = new EventLog({ rows: store.events, clock, redact: (value) => value });
  storage = { store, log, clock, savedGrants: new GrantsFile(join(dir, 'grants.json')) };
  const now = clock.now().toISOString();
  const plain = { agent: 'claude', mode: 'headful', task: 't', cwd: '/', rootId: ID, depth: 0, launch: 1 } as const;
  const flags = { status: 'running', keep: false, yes: false, sandbox: 'none', budget: {} } as const;
  const fresh: Job = {
    id: ID,
    ...plain,
    ...flags,
    createdAt: now,
    usage: noUsage,
    turns: 0,
    workedMs: 0,
    unknownMessages: 0,
  };
  store.commit(() => store.jobs.insert({ job: fresh, runtime: freshRuntime() }));
});
afterEach(() => storage.store.close());

function job(): JobRecord<JobRuntime> {
  const record = storage.store.jobs.get<JobRuntime>(ID);
  if (!record) throw new Error('no job');
  return record;
}

function change<T>(act: (tx: JobTransaction) => T): T {
  return storage.store.commit(() => {
    const tx = new JobTransaction(storage, job());
    const result = act(tx);
    tx.save();
    return result;
  });
}

interface Watch {
  awakeMs: () => number;
  onCommit: () => void;
}

async function openKeyboard({ awakeMs = () => 0, onCommit = () => {} }: Partial<Watch> = {}) {
  const place = { dir: join(dir, 'launch'), file: fixture('terminal-agent.sh'), args: [], cwd: dir, env: { PATH } };
  const tag = `keyboard-${dir.slice(-6)}`;
  const identity = await launchTerminal({ ...place, tag, ceilingMs: 60_000, ready: '\u001b]0;' }, capabilities);
  const terminal = openTerminal(place.dir);
  if (!terminal) throw new Error('no terminal');
  const folders = { jobDir: dir, launchDir: place.dir };
  const waiting = () => storage.store.outbox.open<OutboxDoc>(ID);
  const commit: typeof change = (act) => {
    onCommit();
    return change(act);
  };
  await until('it is ready', () => terminal.isReady());
  return {
    keyboard: new Keyboard({
      terminal,
      waiting,
      commit,
      awakeMs,
      adapter: claudeAdapter as unknown as Adapter,
      ...folders,
    }),
    heard: (text: string) => until(text, () => textOf(join(place.dir, 'screen')).includes(`heard: ${text}\r\n`)),
    end: () => endTree({ identity, tag }, { graceMs: 5_000 }),
  };
}

const states = (...keys: string[]) => keys.map((key) => storage.store.outbox.get<OutboxDoc>(`${ID}:${key}`)?.state);
const message = (messageId: string, text: string, by = 'uid:1') => ({ messageId, text, by, isTask: false });
const told = () =>
  storage.log.slice({ jobId: ID, since: '0', limit: 100 }).events.map(({ type, payload }) => ({ type, payload }));

proves('A-44', 'A-45', 'A-121').test('what a killed daemon may have typed is typed again and marked so', async () => {
  change((tx) => {
    enqueueMessage(tx, { ...message('task', 'the task', 'task'), isTask: true });
    enqueueMessage(tx, message('m1', 'one'));
    tx.storage.store.outbox.move(`${ID}:m1`, 'writing');
  });
  const { keyboard, heard, end } = await openKeyboard();
  keyboard.recover();
  await keyboard.deliver();
  await heard('the task');
  await heard('one');
  await end();
  expect({ states: states('task', 'm1'), told: told() }).toEqual({
    states: ['delivered', 'delivered'],
    told: [{ type: 'input_sent', payload: { messageId: 'm1', text: 'one', by: 'uid:1', maybe_repeated: true } }],
  });
});

proves('A-44', 'A-121').test('a message to a terminal that is gone waits, and is tried once a second', async () => {
  let now = 0;
  let commits = 0;
  const { keyboard, end } = await openKeyboard({ awakeMs: () => now, onCommit: () => commits++ });
  await end();
  change((tx) => enqueueMessage(tx, message('m1', 'one')));
  const seen: number[] = [];
  for (const at of [0, 1, 999, 1000]) {
    now = at;
    await keyboard.deliver();
    seen.push(commits);
  }
  keyboard.close();
  expect({ states: states('m1'), told: told(), seen }).toEqual({ states: ['new'], told: [], seen: [2, 2, 2, 4] });
});

proves('A-121', 'X-08').test('jobs do not type, and there is no key that ends a turn', async () => {
  change((tx) => {
    enqueueMessage(tx, message('m1', 'yes', 'job:J'));
    enqueueInterrupt(tx, 'i1');
    enqueueMessage(tx, message('m2', 'by a person'));
  });
  const { keyboard, heard, end } = await openKeyboard();
  await keyboard.deliver();
  await heard('by a person');
  await end();
  const refused = ['m1', 'i1'].map((key) => storage.store.outbox.get<OutboxDoc>(`${ID}:${key}`)?.doc.refused?.code);
  expect({ states: states('m1', 'i1', 'm2'), refused }).toEqual({
    states: ['failed', 'failed', 'delivered'],
    refused: ['not_yours', 'send_unsupported'],
  });
  expect(textOf(join(dir, 'launch', 'screen'))).not.toContain('yes');
});

proves('A-121').test('a terminal that takes no task for long is told of once, and is not ended for it', async () => {
  const program = { file: 'sh', args: ['-c', 'echo log in; read -r _; printf "\\033]0;x\\007"; read -r _'] };
  const place = { dir: join(dir, 'jobs', ID, '1'), cwd: dir, env: { PATH }, tag: ID };
  const identity = await launchTerminal({ ...place, ...program, ceilingMs: 60_000, ready: '\u001b]0;' }, capabilities);
  let now = 0;
  const timings = { ...defaultTimings, start: 1_000 };
  const adapter = claudeAdapter as unknown as Adapter;
  const of = { id: ID, adapter, identity, jobDir: join(dir, 'jobs', ID) };
  const parts = {
    ...of,
    storage,
    timings,
    nextTurn: async () => {},
    guards: new GuardedFolders(storage.store),
    git: { settle: async () => undefined },
    home: new AgentHome({ state: [], dir, log: createLogger({ write: () => undefined, clock, redact: String }) }),
    awakeMs: () => now,
  };
  const live = new LiveJob(parts, job(), true);
  const warnings = () => told().filter(({ payload }) => 'kind' in payload && payload.kind === 'warning');
  const seen: unknown[] = [];
  for (const at of [0, 1_000, 1_001, 500_000]) {
    now = at;
    await live.tick();
    seen.push(warnings().length);
  }
  const before = { isHeard: job().runtime.wasHeard, silentMs: live.silentMs(), ...job().job };
  await openTerminal(place.dir)?.type('');
  await until('it is heard', () => openTerminal(place.dir)?.isReady());
  await live.tick();
  expect({ seen, before, isHeard: job().runtime.wasHeard }).toMatchObject({
    seen: [0, 0, 1, 1],
    before: { isHeard: false, silentMs: 0, status: 'running' },
    isHeard: true,
  });
  live.end({ why: 'kill' });
  await live.close();
});
