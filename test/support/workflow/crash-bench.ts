import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSafeDir, type SafeDir, type SafeDirOptions } from '../../../src/base/safe-dir.ts';
import { run } from '../../../src/process/run.ts';
import type { Json, WorkflowManifest } from '../../../src/protocol/workflow.ts';
import type { Store } from '../../../src/store/store.ts';
import type { AgentJobSpec, AgentJobs, JobEnd } from '../../../src/workflow/run/ports.ts';
import { Bench, filesOf, finished, judgedInPlace, noBranches, replaceFile } from './run-bench.ts';
import { block, manifest, node, to } from './walk.ts';

/** For tests: a run that passes through everything, with a name for each moment at which its process may die (W-78). */

/** Each moment has a name; at the chosen one the process dies. Nothing happens after death. */
export class Faults {
  readonly hits: string[] = [];
  readonly #isFatal: (name: string, nth: number) => boolean;
  readonly #die: () => never;
  readonly #counts = new Map<string, number>();
  #isDead = false;

  constructor(isFatal: (name: string, nth: number) => boolean, die: () => never) {
    this.#isFatal = isFatal;
    this.#die = die;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  hit(moment: string): void {
    const nth = (this.#counts.get(moment) ?? 0) + 1;
    this.#counts.set(moment, nth);
    const name = nth === 1 ? moment : `${moment} (${nth})`;
    if (this.#isDead || this.#isFatal(name, this.hits.push(name))) {
      this.#isDead = true;
      this.#die();
    }
  }
}

const reader = { worker: 'Agent:reader' };
const workflow: WorkflowManifest = {
  workers: { reader: { agent: 'claude', readonly: true } },
  budget: { tokens: 10_000 },
  ...manifest({
    Main: node({
      Write: block(['SUCCESS>JUMP:Main__Save'], { expects: 'changes' }),
      Save: block(['SUCCESS>JUMP:Main__Plan', 'FAILURE>HALT_AND_FLAG'], { worker: 'Internal:FileSystemWriter' }),
      Plan: block(['SUCCESS>JUMP:Main__Test'], { worker: 'Internal:UpdateChangePlan' }),
      Test: block(
        [
          'SUCCESS>JUMP:Main__Split',
          to('FAILURE>CALL:Fix', { bind_args: [{ to: 'log', from: 'last(TEST_RESULT).content' }] }),
        ],
        {
          worker: 'Internal:TestRunner',
        },
      ),
      Split: block(['SUCCESS>FORK:Look,Read:Main__Ask'], reader),
      Ask: block(['SUCCESS>HALT_AND_FLAG', 'RESUMED>JUMP:Main__Build'], reader),
      Build: block(['SUCCESS>RETURN', 'FAILURE>HALT_AND_FLAG'], { worker: 'Internal:RunBuilder' }),
    }),
    Fix: node(
      {
        Mend: block(['SUCCESS>JUMP:Fix__Save', 'FAIL_DEFAULT>HALT_AND_FLAG']),
        Save: block(['SUCCESS>RETURN', 'FAILURE>HALT_AND_FLAG'], { worker: 'Internal:FileSystemWriter' }),
      },
      { context_inheritance: false },
    ),
    Look: node({ At: block(['SUCCESS>RETURN'], reader) }),
    Read: node({ It: block(['SUCCESS>CALL:Look', 'RETURNED>RETURN'], reader) }),
  }),
};

const file = (filePath: string, fileContent: string) => ({ type: 'CODE_OUTPUT', content: { filePath, fileContent } });
/** Over 64 KiB, so that its log is a blob. */
const LOUD = 'head -c 70000 /dev/zero | tr "\\0" x';

/** Known-bad twins that the comparison must catch. */
export type Twin = 'none' | 'jobs that forget their keys' | 'a writer that does not look first';

/**
 * Every effect, one line each. A spawn is its line, so that no kill falls between the two. A write says what it means to do before: an entry that was
 * replaced by a process that died before it could say so is entered by the next.
 */
class Ledger {
  readonly #path: string;
  readonly #worktree: string;

  constructor(dir: string) {
    this.#path = join(dir, 'ledger');
    this.#worktree = join(dir, 'worktree');
    appendFileSync(this.#path, '');
    const [, path = '', before] = /^intend (\S+) (\d+)$/.exec(this.lines().at(-1) ?? '') ?? [];
    if (path !== '' && before !== this.#inodeOf(path)) this.wrote(path);
  }

  lines(): string[] {
    return readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
  }

  add(line: string): void {
    appendFileSync(this.#path, `${line}\n`);
  }

  willWrite(path: string): void {
    this.add(`intend ${path} ${this.#inodeOf(path)}`);
  }

  wrote(path: string): void {
    this.add(`write ${path} ${readFileSync(join(this.#worktree, path), 'utf8')}`);
  }

  #inodeOf(path: string): string {
    return String(lstatSync(join(this.#worktree, path), { throwIfNoEntry: false })?.ino ?? 0);
  }
}

/** Agents as their jobs are kept on disk: a key is begun once, however often it is asked for. */
class FileJobs implements AgentJobs {
  readonly #ledger: Ledger;
  readonly #faults: Faults;
  readonly #isForgetful: boolean;

  constructor(ledger: Ledger, faults: Faults, twin: Twin) {
    this.#ledger = ledger;
    this.#faults = faults;
    this.#isForgetful = twin === 'jobs that forget their keys';
  }

  async spawn(effectKey: string, spec: AgentJobSpec): Promise<string> {
    this.#faults.hit(`before spawn ${effectKey}`);
    const id = createHash('sha1').update(effectKey).digest('hex').slice(0, 8);
    if (this.#isForgetful || this.#runOf(id) === undefined) {
      this.#ledger.add(`spawn ${id} ${effectKey} ${JSON.stringify(spec.run)}`);
    }
    this.#faults.hit(`after spawn ${effectKey}`);
    return id;
  }

  async wait(jobId: string): Promise<JobEnd> {
    this.#faults.hit(`before wait ${jobId}`);
    const { block: at, visit }: AgentJobSpec['run'] = JSON.parse(this.#runOf(jobId) ?? '');
    if (at === 'Main__Write') {
      return finished('SIGNAL:SUCCESS', {
        segments: [file('a.txt', 'wrong'), file('b.txt', 'one'), file('b.txt', 'two')],
        newFiles: ['a.txt', 'b.txt'],
      });
    }
    if (at === 'Fix__Mend') return finished('SIGNAL:SUCCESS', { segments: [file('a.txt', 'right')] });
    return finished('SIGNAL:SUCCESS', { summary: `${at} ${visit}` });
  }

  #runOf(id: string): string | undefined {
    const line = this.#ledger.lines().find((each) => each.startsWith(`spawn ${id} `));
    return line?.slice(line.indexOf('{'));
  }

  async send(): Promise<void> {}
  async kill(): Promise<void> {}
}

interface FaultyDir extends SafeDirOptions {
  ledger: Ledger;
  faults: Faults;
  twin: Twin;
}

function faultyDir(root: string, { ledger, faults, twin, ...options }: FaultyDir): SafeDir {
  const real = createSafeDir(root, options);
  const absent = () => Promise.reject(Object.assign(new Error('ENOENT'), { code: 'ENOENT' }));
  return {
    ...real,
    stat: twin === 'a writer that does not look first' ? absent : real.stat,
    async write(path, data, mode) {
      faults.hit(`before write ${path}`);
      ledger.willWrite(path);
      await real.write(path, data, mode);
      ledger.wrote(path);
      faults.hit(`after write ${path}`);
    },
  };
}

/** Every journal entry has three moments: before it, inside its transaction, and on the disk. */
function faultyStore(store: Store, faults: Faults): Store {
  const { journal } = store;
  const append = journal.append.bind(journal);
  const attempt = journal.beginAttempt.bind(journal);
  const commit = store.commit.bind(store);
  let appended: string | undefined;
  journal.append = (runId, entry) => {
    const n = append(runId, entry);
    appended = `${entry.kind} ${entry.key}`;
    faults.hit(`inside ${appended}`);
    return n;
  };
  journal.beginAttempt = (runId, key) => {
    faults.hit(`before attempt ${key}`);
    return attempt(runId, key);
  };
  store.commit = (work) => {
    appended = undefined;
    faults.hit('before commit');
    const result = commit(work);
    if (appended !== undefined) faults.hit(`after ${appended}`);
    return result;
  };
  return store;
}

export function crashBench(dir: string, faults: Faults, twin: Twin = 'none'): Bench {
  mkdirSync(dir, { recursive: true });
  const plan = (files: string[]) => {
    const path = join(dir, 'plan');
    const known: string[] = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
    replaceFile(path, JSON.stringify([...new Set([...known, ...files])]));
  };
  const ledger = new Ledger(dir);
  return new Bench({
    dir,
    jobs: new FileJobs(ledger, faults, twin),
    wrapStore: (store) => faultyStore(store, faults),
    ports: {
      openDir: (root, options) => faultyDir(root, { ledger, faults, twin, ...options }),
      async runGate(spec) {
        faults.hit(`before gate ${spec.file}`);
        const result = await run(spec);
        faults.hit(`after gate ${spec.file}`);
        return result;
      },
      worktrees: {
        ...noBranches,
        ...judgedInPlace(join(dir, 'worktree')),
        async addToChangePlan(files) {
          faults.hit('before plan');
          plan(files);
          faults.hit('after plan');
        },
      },
    },
  });
}

/** Begins the run or takes it up again, answers its question as a person would, and goes on to the end. */
export async function drive(bench: Bench): Promise<void> {
  const gate = (script: string) => ({ command: ['/bin/sh', '-c', script], from: 'roster' as const });
  const gates = {
    test: gate(`grep -q right a.txt || { ${LOUD}; exit 1; }`),
    build: gate('test -f b.txt'),
  };
  await bench.engine.recover();
  await bench.start(workflow, { gates });
  for (let view = await bench.settle(); view.isHalted; view = await bench.settle()) {
    const { block: at = '', visit = 0, branch = '', key } = view.halt ?? {};
    const answer = { block: at, visit, branch, verb: 'resume' as const, guidance: 'go on' };
    await bench.runs.answer('run', answer, { key: `answer to ${key}` }).catch((error) => {
      if (error.code !== 'halt_already_answered') throw error;
    });
  }
}

/** What must be the same whenever the process died: journal (times and order of branches apart), view, files, plan, effects. */
export async function story(bench: Bench, dir: string): Promise<Json> {
  const entries = (await bench.entries()).map(({ kind, key, data }) => {
    // The inputs of a run and a branch hold times and paths, and so their fingerprints.
    const { input, ...rest } = data;
    const told = kind === 'start' || kind === 'child' ? rest : data;
    return { kind, key, data: timeless(told as Json) };
  });
  const view = await bench.runs.view('run');
  const ledger = new Ledger(dir).lines().filter((line) => !line.startsWith('intend '));
  return {
    journal: entries.sort((a, b) => (`${a.kind} ${a.key}` < `${b.kind} ${b.key}` ? -1 : 1)),
    outcome: view.outcome,
    visits: view.visits,
    returnStack: view.returnStack,
    segments: view.stats.segments,
    files: filesOf(bench.worktree),
    plan: JSON.parse(readFileSync(join(dir, 'plan'), 'utf8')),
    ledger: ledger.sort(),
  } as Json;
}

const TIMES = new Set(['at', 'timestamp', 'endedAt', 'seconds', 'took']);

function timeless(value: Json): Json {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key]) => !TIMES.has(key) && key !== 'path');
  return Object.fromEntries(kept.map(([key, each]) => [key, timeless(each)]));
}

/** As a program: `crash-bench.ts DIR MOMENT` kills itself there, for real. */
if (process.argv[1] === import.meta.filename) {
  const [, , dir = '', moment = ''] = process.argv;
  const faults = new Faults(
    (name) => name === moment,
    () => {
      process.kill(process.pid, 'SIGKILL');
      throw new Error('still alive');
    },
  );
  const bench = crashBench(dir, faults);
  process.stdout.write('open\n');
  await drive(bench);
  await bench.close();
}
