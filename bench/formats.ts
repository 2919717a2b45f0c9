import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineFacts } from '../src/agents/adapter.ts';
import { claudeAdapter } from '../src/agents/claude/adapter.ts';
import { codexAdapter } from '../src/agents/codex/adapter.ts';
import { ingest, RawOutput } from '../src/agents/ingest.ts';
import { freshRuntime } from '../src/agents/job-runtime.ts';
import { type JobStorage, JobTransaction, loadJob } from '../src/agents/job-transaction.ts';
import { reefProtocolAdapter } from '../src/agents/reef-protocol/adapter.ts';
import { systemClock } from '../src/base/clock.ts';
import { createRedactor, redactDeep } from '../src/base/redact.ts';
import { EventLog } from '../src/events/event-log.ts';
import { GrantsFile } from '../src/runtime/config/grants-file.ts';
import { openSqlite } from '../src/store/driver.ts';
import { Store } from '../src/store/store.ts';
import { aJob } from '../test/support/job-storage.ts';
import { disposableFolder } from '../test/support/temporary-folder.ts';
import { median, type Row, timed } from './measure.ts';

const EVENTS = 50_000;
const ROUNDS = 3;
const LEAST = 0.5;
/** As long as what a model says between two calls of tools. */
const said = (n: number) => `${n}: I look at the tests first, and then at what they say about the rounding of halves.`;

const CODEX_TURN = {
  threadId: '01a1dd29-10b9-7742-85a8-0f0fd1445e36',
  turnId: '01a1dd29-1118-7f61-b017-e0d1e9f794af',
};

/** What each program prints when its model has said something. */
const FORMATS = {
  'Claude Code': {
    adapter: claudeAdapter,
    line: (n: number) => ({
      ...{ type: 'assistant', parent_tool_use_id: null, session_id: 'b4d51a74-4910-47f0-b202-7cea91074b3a' },
      message: {
        ...{ id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-opus-5-5', stop_reason: null },
        content: [{ type: 'text', text: said(n) }],
        usage: { input_tokens: 100, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    }),
  },
  Codex: {
    adapter: codexAdapter,
    line: (n: number) => ({
      method: 'item/completed',
      params: {
        ...CODEX_TURN,
        item: { type: 'agentMessage', id: `msg_${n}`, text: said(n), phase: null, memoryCitation: null },
      },
    }),
  },
  'Reef protocol': {
    adapter: reefProtocolAdapter('bench'),
    line: (n: number) => ({ type: 'progress', payload: { kind: 'text', text: said(n) } }),
  },
} as const;

const request = { jobId: 'J', cwd: '/repo', freshSessionId: 's', prompt: 'Do it', clientVersion: '0.0.1' };
const host: MachineFacts = { command: ['/bin/agent'], version: '0', agentSandbox: true, settings: {} };

/** From a line in the raw output of an agent to a stored event, beside bare inserts of the same rows in batches of 1,000. */
export async function formatRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const what of Object.keys(FORMATS) as (keyof typeof FORMATS)[]) {
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let round = 0; round <= ROUNDS; round++) {
      using folder = disposableFolder();
      const storage = openStorage(folder.path);
      const { ms, events } = await ingestAll(storage, folder.path, what);
      const bare = bareInserts(storage, join(folder.path, 'bare.db'));
      storage.store.close();
      if (round === 0) continue; // it warms both up
      ours.push(events / ms);
      theirs.push(events / bare);
    }
    rows.push({
      what: `${what}, line to row · bare inserts`,
      ours: median(ours),
      theirs: median(theirs),
      unit: 'events/ms',
      target: { least: LEAST },
    });
  }
  return rows;
}

function openStorage(dir: string): JobStorage {
  const store = new Store(join(dir, 'reef.db'));
  const redact = createRedactor(['a secret that does not occur']);
  const log = new EventLog({ rows: store.events, clock: systemClock, redact: (value) => redactDeep(redact, value) });
  return { store, log, clock: systemClock, savedGrants: new GrantsFile(join(dir, 'grants.json')) };
}

async function ingestAll(storage: JobStorage, dir: string, what: keyof typeof FORMATS) {
  const { adapter, line } = FORMATS[what];
  const [out, err] = [join(dir, 'out'), join(dir, 'err')];
  writeFileSync(out, Array.from({ length: EVENTS }, (_, n) => `${JSON.stringify(line(n))}\n`).join(''));
  writeFileSync(err, '');
  const begun = what === 'Codex' ? { ...codexAdapter.initial(request, host), ...CODEX_TURN } : undefined;
  const runtime = { ...freshRuntime(), adapter: begun ?? adapter.initial(request, host) };
  storage.store.commit(() => storage.store.jobs.insert({ job: aJob('J'), runtime }));
  const raw = new RawOutput({ out, err }, { out: 0, err: 0 });
  const ms = await timed(async () => {
    for (let batch = await raw.next(); batch.out.length > 0; batch = await raw.next()) {
      storage.store.record(() => {
        const tx = new JobTransaction(storage, loadJob(storage, 'J'));
        ingest(tx, adapter, batch);
        tx.save();
      });
    }
    storage.store.sync();
  });
  await raw.close();
  const events = storage.store.events.lastSeq();
  if (events < EVENTS) throw new Error(`${what}: ${events} events of ${EVENTS} lines`);
  return { ms, events };
}

function bareInserts({ store }: JobStorage, path: string): number {
  const rows = [...store.events.allOf('J')];
  const database = openSqlite(path);
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.exec('CREATE TABLE event (seq INTEGER PRIMARY KEY, at TEXT, job_id TEXT, type TEXT, payload TEXT)');
  database.exec('CREATE INDEX event_job ON event (job_id, seq)');
  const insert = database.prepare('INSERT INTO event VALUES (?, ?, ?, ?, ?)');
  const begun = performance.now();
  for (let from = 0; from < rows.length; from += 1_000) {
    database.transaction(() => {
      for (const { seq, type, payload } of rows.slice(from, from + 1_000)) {
        insert.run(seq, new Date().toISOString(), 'J', type, JSON.stringify(payload));
      }
    });
  }
  const ms = performance.now() - begun;
  database.close();
  return ms;
}
