import {
  appendFileSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Adapter, LaunchRequest, MachineFacts } from '../src/agents/adapter.ts';
import { Delivery } from '../src/agents/delivery.ts';
import { closeTurn, flushNoise } from '../src/agents/effects.ts';
import { terminalEvent } from '../src/agents/ending.ts';
import { ingest, RawOutput } from '../src/agents/ingest.ts';
import { freshRuntime, type JobRuntime } from '../src/agents/job-runtime.ts';
import { foldStatus, isLive, type StatusState } from '../src/agents/job-status.ts';
import { type JobStorage, JobTransaction } from '../src/agents/job-transaction.ts';
import { noteStarted } from '../src/agents/launcher.ts';
import { enqueueInterrupt, enqueueLine, enqueueMessage, type OutboxDoc } from '../src/agents/outbox.ts';
import { AdapterRegistry } from '../src/agents/registry.ts';
import { send } from '../src/agents/sending.ts';
import { EventLog } from '../src/events/event-log.ts';
import { makeFifo } from '../src/process/fifo.ts';
import type { EventBody } from '../src/protocol/events.ts';
import type { Job, Question } from '../src/protocol/jobs.ts';
import { GrantsFile } from '../src/runtime/config/grants-file.ts';
import { Store } from '../src/store/store.ts';
import { aJob } from './support/job-storage.ts';
import { manualClock } from './support/manual-clock.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { verifies } from './support/verifies.ts';

/**
 * Every recording of a real agent goes through the whole pipeline but for the process: its output through files, reader,
 * adapter, transaction and store, its input through outbox, encoder and FIFO.
 */
const FIXTURES = new URL('./fixtures/agents/', import.meta.url).pathname;
const AGENTS: Record<string, string> = {
  claude: 'claude',
  'claude-2.1.197': 'claude',
  'codex-app-server': 'codex',
  codex: 'codex-exec',
  'gemini-acp': 'gemini',
  'opencode-acp': 'opencode',
  'claude-acp': 'acp:claude',
  'codex-acp': 'acp:codex',
};
const registry = new AdapterRegistry(() => ({
  'acp:claude': { command: ['claude-agent-acp'] },
  'acp:codex': { command: ['codex-acp'] },
}));

interface Entry {
  dir: 'in' | 'out' | 'err' | 'sig' | 'note' | 'exit';
  line?: string;
  code?: number | null;
  signal?: string | null;
}
// biome-ignore lint/suspicious/noExplicitAny: recorded messages of eight programs
type Message = Record<string, any>;

interface Recording {
  name: string;
  agent: string;
  version: string;
  entries: Entry[];
}

const recordings: Recording[] = Object.entries(AGENTS).flatMap(([folder, agent]) =>
  readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => ({
      name: `${folder}/${basename(file, '.jsonl')}`,
      agent,
      version: folder === 'claude-2.1.197' ? '2.1.197' : '2.1.325',
      entries: readFileSync(join(FIXTURES, folder, file), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line): Entry => JSON.parse(line)),
    })),
);

const toMessage = (line: string | undefined): Message | undefined => {
  try {
    const value: unknown = JSON.parse(line ?? '');
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
};

/** How many questions a line asks, by the letter of its protocol and nothing of ours. */
function questionsIn({ dir, line }: Entry): number {
  const message = dir === 'out' ? toMessage(line) : undefined;
  if (message?.type === 'control_request' && message.request.subtype === 'can_use_tool') {
    const { tool_name, input } = message.request;
    return tool_name === 'AskUserQuestion' ? input.questions.length : 1;
  }
  if (message?.method === undefined || message.id === undefined) return 0;
  if (message.method === 'item/tool/requestUserInput') return message.params.questions.length;
  return /\/requestApproval$|^session\/request_permission$/.test(message.method) ? 1 : 0;
}

const dir = temporaryFolder();
const fifo = join(dir, 'in');
let store: Store;
beforeAll(async () => {
  await makeFifo(fifo);
  store = new Store(join(dir, 'reef.db'));
});
afterAll(() => store.close());

function openStorage(): JobStorage {
  const clock = manualClock();
  const log = new EventLog({ rows: store.events, clock, redact: (value) => value });
  return { store, log, clock, savedGrants: new GrantsFile(join(dir, 'grants.json')) };
}

/** One launch of a job, played from a recording. */
class Replay {
  readonly #id: string;
  readonly #recording: Recording;
  readonly #adapter: Adapter;
  readonly #files: { dir: string; out: string; err: string };
  readonly #input = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  /** What we wrote that no recorded line was found for yet. */
  #written: Message[] = [];
  /** Recorded ids of the recorder's requests, by the ids Reef gave its own. */
  readonly #ids = new Map<unknown, unknown>();
  #storage = openStorage();
  #raw: RawOutput;
  #delivery: Delivery;
  #messages = 0;
  largestState = 0;
  answered = 0;
  /** What a transaction left in the job's row, where the events say otherwise. */
  readonly contradictions: unknown[] = [];

  constructor(recording: Recording, id: string) {
    this.#id = id;
    this.#recording = recording;
    this.#adapter = registry.get(recording.agent).adapter;
    const folder = join(dir, id, '1');
    this.#files = { dir: join(dir, id), out: join(folder, 'out'), err: join(folder, 'err') };
    mkdirSync(folder, { recursive: true });
    for (const file of [this.#files.out, this.#files.err]) writeFileSync(file, '');
    this.#launch();
    this.#raw = this.#openRaw();
    this.#delivery = this.#openDelivery();
  }

  /** With `restartEvery`, each time that many lines were written the daemon is a new one, in the middle of a line. */
  async play(restartEvery = Number.POSITIVE_INFINITY): Promise<this> {
    let lines = 0;
    for (const entry of this.#recording.entries) {
      if (entry.dir === 'in') await this.#say(entry);
      if (entry.dir === 'sig') this.#end();
      if (entry.dir === 'exit') await this.#finish(entry);
      if (entry.dir !== 'out' && entry.dir !== 'err') continue;
      lines += 1;
      const bytes = Buffer.from(`${this.#heard(entry)}\n`);
      const cut = lines % restartEvery === 0 ? (lines * 7919) % bytes.length : 0;
      appendFileSync(this.#files[entry.dir], bytes.subarray(0, cut));
      if (lines % restartEvery === 0) await this.#restart();
      appendFileSync(this.#files[entry.dir], bytes.subarray(cut));
      await this.#round();
    }
    closeSync(this.#input);
    return this;
  }

  /** Job id and fingerprints, which contain it, differ between two plays of a recording. */
  events(): EventBody[] {
    const stored = store.events.ofJob({ jobId: this.#id, after: 0, limit: 10_000 });
    const text = JSON.stringify(stored.map(({ type, payload }) => ({ type, payload })));
    return JSON.parse(
      text.replaceAll(this.#id, 'JOB').replaceAll(/"fingerprint":"[0-9a-f]{64}"/g, '"fingerprint":"F"'),
    );
  }

  record(): { job: Job; runtime: JobRuntime } {
    const record = store.jobs.get<JobRuntime>(this.#id);
    if (!record) throw new Error(`no job ${this.#id}`);
    return record;
  }

  #launch(): void {
    const sessionId = resumedSession(this.#recording);
    const request: LaunchRequest = {
      jobId: this.#id,
      cwd: '/repo',
      ...(sessionId === undefined ? {} : { sessionId }),
      freshSessionId: '00000000-0000-4000-8000-000000000000',
      prompt: 'Do it',
      clientVersion: '0.0.1',
    };
    const { version } = this.#recording;
    const host: MachineFacts = { command: ['/bin/agent'], version, agentSandbox: true, settings: {} };
    const job = aJob(this.#id, {
      agent: this.#recording.agent,
      task: 'Do it',
      ...(sessionId === undefined ? {} : { sessionId }),
      status: 'queued',
    });
    const plan = this.#adapter.command(request, host);
    store.record(() =>
      store.jobs.insert({ job, runtime: { ...freshRuntime(), adapter: this.#adapter.initial(request, host) } }),
    );
    this.#commit((tx) => {
      for (const [index, line] of plan.greeting.entries()) enqueueLine(tx, line, `1:greeting:${index}`);
    });
    noteStarted({ storage: this.#storage, homeDir: this.#files.dir }, this.#id, {
      identity: { pid: 1, startTime: '1', bootId: 'b' },
      plan,
    });
  }

  #openRaw(): RawOutput {
    return new RawOutput({ out: this.#files.out, err: this.#files.err }, this.record().runtime.read);
  }

  #openDelivery(): Delivery {
    return new Delivery({
      adapter: this.#adapter,
      jobDir: this.#files.dir,
      fifo,
      waiting: () => store.outbox.open<OutboxDoc>(this.#id),
      commit: (change) => this.#commit(change),
    });
  }

  async #restart(): Promise<void> {
    await this.#round();
    await this.#raw.close();
    this.#delivery.close();
    store.close();
    store = new Store(join(dir, 'reef.db'));
    this.#storage = openStorage();
    this.#raw = this.#openRaw();
    this.#delivery = this.#openDelivery();
  }

  #commit<T>(change: (tx: JobTransaction) => T): T {
    return store.record(() => {
      const tx = new JobTransaction(this.#storage, this.record());
      const result = change(tx);
      const { job, runtime } = tx.save();
      const stored = { status: job.status, reason: job.reason, open: runtime.open };
      const { status, reason, open } = foldOf(this.events(), job);
      if (JSON.stringify(stored) !== JSON.stringify({ status, reason, open })) this.contradictions.push(stored);
      this.largestState = Math.max(this.largestState, Buffer.byteLength(JSON.stringify(runtime.adapter)));
      return result;
    });
  }

  async #round(): Promise<void> {
    const batch = await this.#raw.next();
    this.#commit((tx) => ingest(tx, this.#adapter, batch));
    await this.#deliver();
  }

  async #deliver(): Promise<void> {
    await this.#delivery.deliver();
    const buffer = Buffer.alloc(128 * 1024);
    const text = () => {
      try {
        return buffer.toString('utf8', 0, readSync(this.#input, buffer));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
        throw error;
      }
    };
    const lines = text()
      .split('\n')
      .filter((line) => line !== '');
    this.#written.push(...lines.map((line): Message => JSON.parse(line)));
  }

  /** A response names the request it answers: the recorder's there, ours here. */
  #heard(entry: Entry): string {
    const line = entry.line ?? '';
    const message = entry.dir === 'out' ? toMessage(line) : undefined;
    const isResponse = message?.id !== undefined && message.method === undefined && message.type === undefined;
    return isResponse ? JSON.stringify({ ...message, id: this.#ids.get(message.id) ?? `foreign-${message.id}` }) : line;
  }

  async #say({ line }: Entry): Promise<void> {
    const message = toMessage(line);
    if (message === undefined) return;
    this.#messages += 1;
    const words = toWords(message);
    const messageId = words?.messageId ?? `message-${this.#messages}`;
    if (words?.text !== undefined) {
      const { text } = words;
      this.#commit((tx) => enqueueMessage(tx, { messageId, text, by: 'recorder', isTask: false }));
    } else if (words) {
      this.#commit((tx) => enqueueInterrupt(tx, messageId));
    } else {
      this.#answer(message);
    }
    await this.#deliver();
    if (message.method === undefined || message.id === undefined) return;
    const isSame = (ours: Message) => kindOf(ours) === kindOf(message);
    const index = this.#written.findIndex(isSame);
    if (index !== -1) this.#ids.set(message.id, this.#written.splice(index, 1)[0]?.id);
  }

  #answer(message: Message): void {
    const requestId = JSON.stringify(message.type === 'control_response' ? message.response.request_id : message.id);
    const rows = store.questions.unclosedOf(this.#id).filter(({ question }) => question.requestId === requestId);
    const caller = { by: 'recorder', surface: 'cli' as const };
    for (const [index, { question, state }] of rows
      .toSorted((a, b) => indexOf(a.question) - indexOf(b.question))
      .entries()) {
      const given = toAnswer(message, question, index);
      if (state !== 'open' || given === undefined) continue;
      const request = { id: this.#id, questionId: question.questionId, ...given };
      this.answered += 1;
      send({ storage: this.#storage, adapter: this.#adapter }, { job: this.record().job, request, caller });
    }
  }

  /** Where the recorder ended an agent that was done, Reef would have. */
  #end(): void {
    this.#commit((tx) => {
      if (tx.runtime.turn.is === 'over') tx.runtime.ending = { why: 'linger' };
    });
  }

  async #finish({ code, signal }: Entry): Promise<void> {
    await this.#round();
    const rest = this.#raw.rest();
    const end = { code: code ?? SIGNALS[signal ?? ''] ?? 1, ceilingReached: false, at: '2026-01-01T00:00:09.000Z' };
    this.#commit((tx) => {
      ingest(tx, this.#adapter, rest);
      closeTurn(tx, 'exit');
      flushNoise(tx);
      tx.emit(terminalEvent({ job: tx.job, runtime: tx.runtime, end, adapter: this.#adapter }));
    });
    this.#delivery.close();
    await this.#raw.close();
  }
}

const queued: StatusState = { status: 'queued', open: [] };
const foldOf = (events: EventBody[], job: Job) =>
  events.reduce((state, event) => foldStatus(state, event, job), queued);
const SIGNALS: Record<string, number> = { SIGINT: 130, SIGKILL: 137, SIGTERM: 143 };
const indexOf = (question: Question) => question.group?.index ?? 0;
/** While a turn is open Reef steers where the recorder began another. */
const kindOf = ({ method }: Message): unknown => (method === 'turn/steer' ? 'turn/start' : method);

function resumedSession({ entries }: Recording): string | undefined {
  const sent = entries.flatMap(({ dir, line }) => (dir === 'in' ? [toMessage(line) ?? {}] : []));
  const resume = sent.find(({ method }) => method === 'thread/resume' || method === 'session/load');
  return resume?.params.threadId ?? resume?.params.sessionId;
}

/** A message or an interrupt of the recorder's; undefined for answers and for what Reef says by itself. */
function toWords(message: Message): { messageId?: string; text?: string } | undefined {
  const { type, method, params } = message;
  if (type === 'user')
    return { ...(message.uuid && { messageId: message.uuid }), text: message.message.content[0].text };
  if (type === 'control_request') {
    return message.request.subtype === 'interrupt' ? { messageId: message.request_id } : undefined;
  }
  if (method === 'turn/start' || method === 'turn/steer') {
    return { ...(params.clientUserMessageId && { messageId: params.clientUserMessageId }), text: params.input[0].text };
  }
  if (method === 'session/prompt') return { text: params.prompt[0].text };
  return method === 'turn/interrupt' || method === 'session/cancel' ? {} : undefined;
}

type Given = { decision: 'allow_once' | 'deny'; fingerprint: string } | { option: string[] } | { text: string };

/** What a person must have answered for the recorder to have sent this. */
function toAnswer(message: Message, question: Question, index: number): Given | undefined {
  const reply = message.type === 'control_response' ? message.response.response : message.result;
  if (question.kind === 'permission') {
    if (reply?.outcome?.outcome === 'cancelled') return undefined;
    const allowed = [reply?.behavior, reply?.decision, reply?.outcome?.optionId].some((word) =>
      /^(allow|accept|approved?|proceed|once|always)/.test(String(word)),
    );
    return { decision: allowed ? 'allow_once' : 'deny', fingerprint: question.fingerprint };
  }
  const given = Object.values<Message | string>(reply?.updatedInput?.answers ?? reply?.answers ?? {})[index];
  const words: string[] = typeof given === 'string' ? [given] : (given?.answers ?? []);
  const labels = question.choices?.map(({ label }) => label) ?? [];
  return words.every((word) => labels.includes(word)) ? { option: words } : { text: words.join(', ') };
}

const kindIs = (kind: string) => (event: EventBody) => 'kind' in event.payload && event.payload.kind === kind;
const isProcess = ({ type, payload }: EventBody) =>
  (type === 'completed' && payload.scope === 'process') || (type === 'error' && payload.fatal);

describe.each(recordings)('the recording $name', (recording) => {
  const asked = recording.entries.reduce((sum, entry) => sum + questionsIn(entry), 0);

  verifies('A-03', 'A-04', 'A-05', 'A-40', 'A-51', 'A-143').test(
    'keeps the laws of the log, with and without restarts',
    async () => {
      const id = recording.name.replace('/', '.');
      const replay = await new Replay(recording, id).play();
      const events = replay.events();
      const { job, runtime } = replay.record();
      const calls = events.flatMap(({ type, payload }) => (type === 'tool_call' ? [payload.id] : []));
      const results = events.filter(kindIs('tool_result')).map(({ payload }) => 'id' in payload && payload.id);
      expect({
        badEvents: events.filter(({ payload }) => 'code' in payload && payload.code === 'bad_event'),
        adapterFailed: runtime.ending?.fails,
        contradictions: replay.contradictions,
        isOver: foldOf(events, job).status === job.status && (job.status === 'paused' || !isLive(job.status)),
        ends: events.flatMap((event, index) => (isProcess(event) ? [index] : [])),
        starts: events.flatMap(({ type }, index) => (type === 'started' ? [index] : [])),
        unanswered: calls.filter((call) => !results.includes(call)),
        questions: events.filter(({ type }) => type === 'needs_input').length,
        taken: events.filter(({ type, payload }) => type === 'input_sent' && payload.questionId !== undefined).length,
        stillOpen: store.questions.unclosedOf(id).length,
        isSmall: replay.largestState <= 64 * 1024,
        absolute: events.filter(
          ({ type, payload }) => type === 'file_edit' && payload.path.startsWith('/') && !payload.outside,
        ),
      }).toEqual({
        badEvents: [],
        adapterFailed: undefined,
        contradictions: [],
        isOver: true,
        ends: [events.length - 1],
        starts: [0],
        unanswered: [],
        questions: asked,
        taken: replay.answered,
        stillOpen: 0,
        isSmall: true,
        absolute: [],
      });
      const restarted = await new Replay(recording, `${id}.again`).play(7);
      expect(restarted.events()).toEqual(events);
      expect(restarted.record().runtime).toEqual(runtime);
    },
  );
});

test('the recordings are those of eight programs, and six of them ask', () => {
  const asking = recordings.filter(({ entries }) => entries.some((entry) => questionsIn(entry) > 0));
  const folders = (of: Recording[]) => [...new Set(of.map(({ name }) => name.split('/')[0]))].sort();
  expect({ all: folders(recordings), count: recordings.length >= 170, asking: folders(asking) }).toEqual({
    all: Object.keys(AGENTS).sort(),
    count: true,
    asking: ['claude', 'claude-2.1.197', 'claude-acp', 'codex-acp', 'codex-app-server', 'gemini-acp', 'opencode-acp'],
  });
});
