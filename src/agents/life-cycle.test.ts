import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, expect } from 'vitest';
import { TestStorage } from '../../test/support/job-storage.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { answered, JobActions, type RealJob } from '../../test/support/models/job-actions.ts';
import { JobModel } from '../../test/support/models/job-model.ts';
import { scale } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import type { EventBody } from '../protocol/events.ts';
import type { Effect } from './adapter.ts';
import { applyEffects } from './effects.ts';
import { endLaunch } from './ending.ts';
import { freshRuntime } from './job-runtime.ts';
import { foldStatus, type StatusState } from './job-status.ts';
import type { JobTransaction } from './job-transaction.ts';
import { noteStarted } from './launcher.ts';
import type { OutboxDoc } from './outbox.ts';
import { reefProtocolAdapter } from './reef-protocol/adapter.ts';
import { send } from './sending.ts';

/** The life of a job against the model of it: the code that takes effects, answers, messages and ends, on a real database. */

const SEQUENCES = scale('Q-42', { test: 1_400, faults: 20_000, soak: 500_000 });
const ID = 'J';

let root: string;
let lives = 0;
beforeEach(() => {
  // What a killed process wrote is there without any sync: in memory it costs no disk.
  root = temporaryFolder(existsSync('/dev/shm') ? '/dev/shm' : undefined);
});

class Died extends Error {}

const source = { stream: 'out', offset: 0, bytes: 1, text: '' } as const;
const say: Effect = { do: 'text', kind: 'text', id: 'm', text: 'I look.', final: true };
const asks = (requestId: string, count: number): Effect => {
  const choices = [{ id: 'a', label: 'a' }];
  return {
    do: 'ask',
    requestId,
    questions: Array.from({ length: count }, (_, n) => ({ kind: 'choice', question: `${n}?`, choices })),
  };
};

interface ReadLog {
  lastSeq: number;
  state: StatusState;
  texts: number;
  taken: number;
}
const UNREAD: ReadLog = { lastSeq: 0, state: { status: 'queued', open: [] }, texts: 0, taken: 0 };

/** On a database of its own. A kill leaves what SQLite has written so far, and nothing that was in memory. */
class StoredJob implements RealJob {
  readonly #adapter = reefProtocolAdapter('model');
  #storage: TestStorage;
  #log = UNREAD;

  constructor(keep: boolean) {
    this.#storage = this.#open();
    this.#storage.addJob(ID, { keep, status: 'queued', launch: 0 });
  }

  #open(from?: string): TestStorage {
    const dir = join(root, String(lives++));
    mkdirSync(dir);
    for (const name of from === undefined ? [] : ['reef.db', 'reef.db-wal']) {
      if (existsSync(join(from ?? '', name))) copyFileSync(join(from ?? '', name), join(dir, name));
    }
    return new TestStorage(manualClock(), dir);
  }

  kill(): void {
    const act = () =>
      this.#change((tx) => {
        applyEffects(tx, [say, asks('never', 1)], source);
        throw new Died();
      });
    expect(act).toThrow(Died);
    const dead = this.#storage;
    this.#log = UNREAD;
    this.#storage = this.#open(dead.dir);
    dead.close();
    rmSync(dead.dir, { recursive: true });
  }

  close(): void {
    this.#storage.close();
    rmSync(this.#storage.dir, { recursive: true });
  }

  start(): void {
    this.#change((tx) => {
      tx.job.launch += 1;
      tx.runtime = { ...freshRuntime(tx.runtime), isLaunching: true };
    });
    const identity = { pid: 7, startTime: '1', bootId: 'b' };
    noteStarted({ storage: this.#storage, homeDir: this.#storage.dir }, ID, { identity });
  }

  say = () => this.#hear(say);
  work = () => this.#hear({ do: 'answer' });
  limit = () => this.#hear({ do: 'limit', message: 'enough' });
  ask = (request: string, count: number) => this.#hear(asks(request, count));
  withdraw = (requestId: string) => this.#hear({ do: 'withdraw', requestId, by: 'agent' });
  takeAnswers = (requestId: string) => this.#hear({ do: 'ack', requestId });
  takeMessage = (key: string) => {
    const messageId = this.#storage.store.outbox.get(`${ID}:${key}`)?.ref ?? '';
    this.#hear({ do: 'ack', messageId });
  };
  answer = (questionId: string, key: string) => this.#send({ questionId, option: [1], key });
  message = (key: string) => this.#send({ text: 'go on', key });

  endTurn(how: 'done' | 'failed' | 'interrupted'): void {
    const failed = { do: 'turn', is: 'failed', code: 'agent_error', message: 'no', retryable: false } as const;
    this.#hear(
      { do: 'turn', is: 'begun' },
      how === 'failed' ? failed : { do: 'turn', is: 'over', outcome: how, result: '' },
    );
  }

  endProcess(how: 'killed' | 'unknown' | number): void {
    const end = { code: how === 'killed' ? 137 : Number(how), ceilingReached: false, at: '2026-01-01T00:00:00.000Z' };
    this.#change((tx) => {
      if (how === 'killed') tx.runtime.ending = { why: 'kill' };
      endLaunch(tx, how === 'unknown' ? 'unknown' : end, this.#adapter);
    });
  }

  resume(): void {
    this.#change((tx) => tx.emit({ type: 'progress', payload: { kind: 'queued', position: 1 } }));
  }

  /** Everything the model knows; and that the log, read from its beginning after each kill, says the same. */
  seen() {
    const { job, runtime } = this.#storage.record(ID);
    const { questions, outbox } = this.#storage.store;
    this.#readOn(job);
    const { status, reason } = job;
    expect(this.#log.state).toEqual({ status, open: runtime.open, ...(reason && { reason }) });
    const mail = outbox.open<OutboxDoc>(ID);
    return {
      status,
      reason,
      inbox: questions.open().map(({ question }) => question.questionId),
      unclosed: questions.unclosedOf(ID).map(({ question }) => question.questionId),
      answers: mail.filter(({ doc }) => doc.kind === 'answer').map(({ ref }) => ref),
      messages: mail.filter(({ doc }) => doc.kind === 'message').map(({ key }) => key.slice(ID.length + 1)),
      texts: this.#log.texts,
      taken: this.#log.taken,
    };
  }

  #readOn(job: { keep: boolean }): void {
    const { lastSeq: after, ...log } = this.#log;
    const news = this.#storage.store.events.ofJob({ jobId: ID, after, limit: 10_000 });
    expect(news.map(({ seq }) => seq)).toEqual(news.map((_, n) => after + n + 1));
    this.#log = {
      lastSeq: after + news.length,
      state: news.reduce<StatusState>((state, event) => foldStatus(state, event as EventBody, job), log.state),
      texts: log.texts + news.filter(({ payload }) => 'kind' in payload && payload.kind === 'text').length,
      taken: log.taken + news.filter(({ type }) => type === 'input_sent').length,
    };
  }

  #hear(...effects: Effect[]): void {
    this.#change((tx) => applyEffects(tx, effects, source));
  }

  #change(act: (tx: JobTransaction) => void): void {
    this.#storage.change(ID, act);
  }

  #send(request: { key: string } & ({ text: string } | { questionId: string; option: [1] })): string {
    const { job } = this.#storage.record(ID);
    const deps = { storage: this.#storage, adapter: this.#adapter };
    try {
      send(deps, { job, request: { id: ID, ...request }, caller: { by: 'me', surface: 'cli' } });
      return 'taken';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }
}

type Seen = ReturnType<StoredJob['seen']>;
const LISTS = ['inbox', 'unclosed', 'answers', 'messages'] as const;
/** The order of a list is not the model's. */
const inOrder = (seen: Seen): Seen => ({
  ...seen,
  ...Object.fromEntries(LISTS.map((list) => [list, [...seen[list]].sort()])),
});

const modelled = (model: JobModel): Seen => ({
  status: model.status,
  reason: model.reason as Seen['reason'],
  inbox: model.ids('open'),
  unclosed: model.ids('open', 'answered'),
  answers: answered(model),
  messages: [...model.messages].flatMap(([key, state]) => (state === 'sent' ? [key] : [])),
  texts: model.texts,
  taken: model.taken,
});

verifies('Q-42', 'A-04').test(
  `the life of a job agrees with its reference model, in ${SEQUENCES} sequences of up to 60 actions, kills among them`,
  () => {
    const actions = new JobActions((model, real) =>
      expect(inOrder((real as StoredJob).seen())).toEqual(inOrder(modelled(model))),
    );
    const sequences = fc.commands(actions.all(), { maxCommands: 60, size: 'max' });
    fc.assert(
      fc.property(fc.boolean(), sequences, (keep, sequence) => {
        const real = new StoredJob(keep);
        try {
          fc.modelRun(() => ({ model: new JobModel(keep), real }), sequence);
        } finally {
          real.close();
        }
      }),
      { numRuns: SEQUENCES },
    );
    const rare = [...actions.did].filter(([, times]) => times < SEQUENCES / 25);
    expect({ kinds: actions.did.size, rare }).toEqual({ kinds: 14, rare: [] });
  },
  60_000 + SEQUENCES * 60,
);
