import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { createIds } from '../../../src/base/ids.ts';
import { createSafeDir } from '../../../src/base/safe-dir.ts';
import { run } from '../../../src/process/run.ts';
import type { HaltAnswer, Json, RunView, WorkflowManifest } from '../../../src/protocol/workflow.ts';
import { Store } from '../../../src/store/store.ts';
import type { DurableEngine } from '../../../src/workflow/durable/durable-engine.ts';
import { EmbeddedEngine } from '../../../src/workflow/durable/embedded-engine.ts';
import { type JournalEntry, journalBlobs } from '../../../src/workflow/durable/journal.ts';
import type { RunInput } from '../../../src/workflow/run/branch-run.ts';
import type { AgentJobSpec, AgentJobs, JobEnd, WorkflowPorts } from '../../../src/workflow/run/ports.ts';
import { defineWorkflows } from '../../../src/workflow/run/run-body.ts';
import { WorkflowRuns } from '../../../src/workflow/runs/workflow-runs.ts';
import { eventually } from '../wait.ts';

/** For tests: the real engine over a real store and folder; agents are scripts, git is a hash of the files. */

export const SPENT = { tokens: 10, turns: 1, seconds: 2, usd: 0.5 };
export const finished = (signal: string, more: object = {}): JobEnd => ({
  how: 'completed',
  text: '',
  structured: { signal, summary: 'did it', ...more } as Json,
  spent: SPENT,
});

interface AgentTurn {
  spec: AgentJobSpec;
  /** Of this block in this run, counted from 1. */
  turn: number;
  messages: (string | undefined)[];
  abort: AbortSignal;
}
export type AgentScript = (turn: AgentTurn) => Promise<JobEnd> | JobEnd;

/** Jobs that outlive an engine, as real ones do: one per key, and each turn happens once. */
export class ScriptedJobs implements AgentJobs {
  readonly specs: AgentJobSpec[] = [];
  readonly killed: string[] = [];
  readonly #script: AgentScript;
  readonly #jobs = new Map<
    string,
    { spec: AgentJobSpec; messages: (string | undefined)[]; ends: Map<number, Promise<JobEnd>> }
  >();
  readonly #byKey = new Map<string, string>();
  readonly #sent = new Set<string>();

  constructor(script: AgentScript) {
    this.#script = script;
  }

  async spawn(effectKey: string, spec: AgentJobSpec): Promise<string> {
    const known = this.#byKey.get(effectKey);
    if (known !== undefined) return known;
    const id = `job-${this.specs.push(spec)}`;
    this.#byKey.set(effectKey, id);
    this.#jobs.set(id, { spec, messages: [], ends: new Map() });
    return id;
  }

  async wait(jobId: string, abort: AbortSignal): Promise<JobEnd> {
    const job = this.#jobs.get(jobId);
    if (!job) throw new Error(`no job ${jobId}`);
    const turn = job.messages.length + 1;
    const end =
      job.ends.get(turn) ?? Promise.resolve(this.#script({ spec: job.spec, turn, messages: [...job.messages], abort }));
    job.ends.set(turn, end);
    const aborted = new Promise<never>((_, reject) => {
      if (abort.aborted) reject(abort.reason);
      abort.addEventListener('abort', () => reject(abort.reason), { once: true });
    });
    return Promise.race([end, aborted]);
  }

  async send(effectKey: string, jobId: string, text?: string): Promise<void> {
    if (this.#sent.has(effectKey)) return;
    this.#sent.add(effectKey);
    this.#jobs.get(jobId)?.messages.push(text);
  }

  async kill(jobId: string): Promise<void> {
    this.killed.push(jobId);
  }
}

/** Every file and its content, as git's tree id would tell. */
function treeOf(dir: string): string {
  return createHash('sha1')
    .update(JSON.stringify(filesOf(dir)))
    .digest('hex');
}

export function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1)).sort();
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

/** Whole or not at all, as what a double stands for would keep it: its process may be killed, too. */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** As git would tell them, remembered by tree; what an earlier process saw is read from a folder. */
function hashCaptures(memory: string): WorkflowPorts['captures'] {
  const remember = (dir: string): string => {
    const tree = treeOf(dir);
    replaceFile(join(memory, tree), JSON.stringify(filesOf(dir)));
    return tree;
  };
  return {
    now: async (dir) => ({ commit: `commit-of-${remember(dir)}`, tree: remember(dir) }),
    treeId: async (dir) => remember(dir),
    async changedFiles(dir, since) {
      const before: Record<string, string> = JSON.parse(readFileSync(join(memory, since), 'utf8'));
      const now = filesOf(dir);
      const paths = new Set([...Object.keys(before), ...Object.keys(now)]);
      return [...paths].filter((path) => before[path] !== now[path]).sort();
    },
    async checkpoint(dir, ref) {
      const tree = remember(dir);
      replaceFile(join(memory, ref), tree);
      return { commit: `commit-of-${tree}`, tree };
    },
  };
}

export const noBranches = {
  branchOff: () => Promise.reject(new Error('no worktrees here')),
  mergeBack: () => Promise.reject(new Error('no worktrees here')),
  discard: () => Promise.reject(new Error('no worktrees here')),
};

/** Here gates run where the agents work. */
export function judgedInPlace(folder: string): Pick<WorkflowPorts['worktrees'], 'inGateCheckout' | 'compareWithBase'> {
  return {
    compareWithBase: async () => undefined,
    inGateCheckout: async (_id, _judged, use) => use({ folder, ran: new Set(), setUpSeconds: 0 }),
  };
}

export interface BenchOptions {
  dir: string;
  clock?: Clock;
  jobs?: AgentJobs;
  ports?: Partial<WorkflowPorts>;
  wrapStore?(store: Store): Store;
  onEntry?(runId: string, entry: JournalEntry): void;
}

export class Bench {
  readonly engine: DurableEngine;
  readonly runs: WorkflowRuns;
  readonly store: Store;
  readonly worktree: string;
  readonly plans: [files: string[], worktree: string][] = [];

  constructor({ dir, clock = systemClock, jobs, ports = {}, wrapStore, onEntry }: BenchOptions) {
    this.worktree = join(dir, 'worktree');
    mkdirSync(this.worktree, { recursive: true });
    const store = new Store(join(dir, 'db'));
    this.store = wrapStore ? wrapStore(store) : store;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const blobs = journalBlobs(this.store);
    this.engine = new EmbeddedEngine({ store: this.store, clock, log, ...(onEntry && { onEntry }) });
    this.runs = new WorkflowRuns({ engine: this.engine, blobs, clock, newId: createIds(clock) });
    defineWorkflows(this.engine, {
      clock,
      blobs,
      openDir: createSafeDir,
      runGate: run,
      gateEnv: () => ({ PATH: '/usr/bin:/bin' }),
      setup: async () => [],
      jobs: jobs ?? new ScriptedJobs(() => finished('SIGNAL:SUCCESS')),
      captures: hashCaptures(join(dir, 'trees')),
      worktrees: {
        addToChangePlan: async (files, id) => void this.plans.push([files, id]),
        ...noBranches,
        ...judgedInPlace(this.worktree),
      },
      prompt: {
        limit: 100_000,
        // The same in every folder.
        measure: (text) => text.replaceAll(this.worktree, '').length,
        outline: ({ path }) => `(outline)\noutline of ${path}`,
      },
      keepVerdicts: (runId, verdicts) => this.store.commit(() => this.store.verdicts.insert(runId, verdicts)),
      hasPassed: (tree, key) => this.store.verdicts.hasPassed(tree, key),
      defaultAgent: () => 'claude',
      isAgent: (name) => name === 'claude' || name === 'codex',
      steppingOf: (runId) => this.runs.steppingOf(runId),
      ...ports,
    });
  }

  input(manifest: WorkflowManifest, more: Partial<RunInput> = {}): Omit<RunInput, 'runId'> {
    const [node = ''] = Object.keys(manifest.nodes);
    const worktree = { id: 'w1', path: this.worktree };
    return { task: 'the task', node, manifest, gates: {}, worktree, stepping: false, autoResume: false, ...more };
  }

  async start(manifest: WorkflowManifest, more: Partial<RunInput> = {}, runId = 'run'): Promise<string> {
    await this.runs.start({ ...this.input(manifest, more), runId });
    return runId;
  }

  /** Runs to the end, or to the first question. */
  settle(runId = 'run'): Promise<RunView> {
    const isSettled = (view: RunView) => view.outcome !== 'running' || view.isHalted;
    return eventually(() => this.runs.view(runId), isSettled, { what: 'the run ends or asks', everyMs: 5 });
  }

  async answer(view: RunView, answer: Partial<HaltAnswer>): Promise<RunView> {
    const { block = '', visit = 0, branch = 'main' } = view.halt ?? {};
    await this.runs.answer(view.runId, { block, visit, branch, verb: 'resume', ...answer });
    return this.settle(view.runId);
  }

  async entries(runId = 'run'): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = [];
    for await (const entry of this.engine.history(runId)) entries.push(entry);
    return entries;
  }

  async close(): Promise<void> {
    await this.engine.close();
    this.store.close();
  }
}
