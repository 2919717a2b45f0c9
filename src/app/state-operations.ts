import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findJob } from '../agents/find-job.ts';
import { CODER } from '../agents/native-agents.ts';
import { jobDir } from '../agents/sandbox.ts';
import type { Clock } from '../base/clock.ts';
import type { Home } from '../base/home.ts';
import type { Logger } from '../base/log.ts';
import { parseJson } from '../base/safe-json.ts';
import { sectionText } from '../coder/tools/state.ts';
import { changePlan } from '../coder/tools/talk.ts';
import type { Git } from '../git/git-command.ts';
import type { PrivateGits } from '../git/private/private-gits.ts';
import { readHead } from '../git/repository.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { Caller, OperationOutput, OperationRequest, StateCore } from '../protocol/operations.ts';
import type { RepoState } from '../protocol/repostate.ts';
import { type ArtifactStore, createArtifactStore } from '../repostate/artifacts/artifact-store.ts';
import { formatForPrompt } from '../repostate/snapshot/format.ts';
import { createGitSource } from '../repostate/state/git-view.ts';
import { stateDirOf } from '../repostate/state/state-file.ts';
import { TaskList } from '../repostate/state/task-list.ts';
import { Tracker } from '../repostate/state/tracker.ts';
import type { Store } from '../store/store.ts';
import { blockOf } from '../workflow/runs/spec.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { CodeOperations } from './code-operations.ts';

interface StateOperationsDeps {
  home: Home;
  store: Store;
  git: Git;
  copies: Pick<PrivateGits, 'settle'>;
  clock: Clock;
  log: Logger;
  worktrees: GitWorktreeManager;
  /** Finds the folder a question is about; for an agent always its own. */
  code: Pick<CodeOperations, 'folderOf'>;
  redact<T>(value: T): T;
}

const MOST_JOBS = 1_000;

interface Looked {
  state: RepoState;
  /** The job whose turns need no name: the last one there, or the one that asks. */
  jobId: string;
}

/** RepoState for everybody but the native coder: rebuilt from git, the file and the events at each question. */
export class StateOperations implements StateCore {
  readonly #deps: StateOperationsDeps;

  constructor(deps: StateOperationsDeps) {
    this.#deps = deps;
  }

  async repo_state(
    { worktree, section }: OperationRequest<'repo_state'>,
    caller: Caller,
  ): Promise<OperationOutput<'repo_state'>> {
    const path = await this.#deps.code.folderOf(worktree, caller);
    const { state, jobId } = await this.#look(path);
    const text = await this.#textOf(path, { state, jobId: caller.jobId ?? jobId }, section);
    return this.#deps.redact({ text, state });
  }

  async #textOf(
    path: string,
    { state, jobId }: Looked,
    section: OperationRequest<'repo_state'>['section'],
  ): Promise<string> {
    if (section === 'all') return formatForPrompt(state, { jobId });
    if (section !== 'diff') return sectionText(state, section, jobId);
    const worktree = await this.#worktreeAt(path);
    if (!worktree) throw new ReefError('not_a_worktree', 'Only a worktree of Reef has a base to compare with.');
    return (await this.#deps.worktrees.diff(worktree.id)).patch;
  }

  async artifact_read({ id, job, ...options }: OperationRequest<'artifact_read'>, caller: Caller) {
    const owner = findJob(this.#deps.store, caller.jobId ?? job ?? '@last', caller).job;
    const runId = blockOf(this.#deps.store, owner.id)?.runId;
    // The native coder keeps a tree of its own, also where it is another job's child.
    const trees = new Set([owner.id, owner.rootId, ...(runId === undefined ? [] : [runId])]);
    let refusal: unknown;
    for (const rootId of trees) {
      try {
        return await this.artifactsOf(rootId, owner.id).read(id, options);
      } catch (error) {
        refusal ??= error;
      }
    }
    throw refusal;
  }

  async todo(request: OperationRequest<'todo'>, caller: Caller) {
    const path = await this.#deps.code.folderOf(undefined, caller);
    const tracker = await this.#open(path);
    try {
      const todos = new TaskList();
      todos.load(tracker.getSnapshot().openTasks);
      changePlan(todos, tracker, request);
      if (request.op !== 'list') await tracker.persist();
      return { tasks: [...todos.list()] };
    } finally {
      await tracker.close();
    }
  }

  async context_calls(
    { id }: OperationRequest<'context_calls'>,
    caller: Caller,
  ): Promise<OperationOutput<'context_calls'>> {
    const { job } = findJob(this.#deps.store, id, caller);
    const file = join(jobDir(this.#deps.home.dir, job.id), 'context.jsonl');
    const text = await readFile(file, 'utf8').catch(() => {
      throw new ReefError(
        'job_not_found',
        `${job.id} is not a job of the native coder, or it has not asked its model yet.`,
      );
    });
    const lines = text.split('\n').map((line) => parseJson(line));
    const calls = lines.flatMap((line) => (line.ok ? [line.value as Record<string, unknown>] : []));
    return { jobId: job.id, calls, reads: this.#readsOf(job.id) };
  }

  /** How often the agent fetched again what had left its prompt. */
  #readsOf(jobId: string): OperationOutput<'context_calls'>['reads'] {
    const seen = new Set<string>();
    const reads = { artifacts: 0, again: 0 };
    for (const { type, payload } of this.#deps.store.events.allOf(jobId)) {
      if (type !== 'tool_call') continue;
      if (payload.name === 'artifact_read') reads.artifacts += 1;
      if (payload.name !== 'read_file') continue;
      const reading = JSON.stringify(payload.input);
      if (seen.has(reading)) reads.again += 1;
      seen.add(reading);
    }
    return reads;
  }

  /** What an agent is told about its worktree at hand-over. Empty where nothing has happened yet. */
  async brief(worktreePath: string): Promise<string> {
    const { state } = await this.#look(worktreePath);
    const isFresh = state.files.every(({ status }) => status === 'unchanged') && state.runs.length === 0;
    // Whoever it is for has had no turn yet: every turn in it is somebody else's.
    return isFresh ? '' : formatForPrompt(state, { jobId: '' });
  }

  /** The same for a job. The native coder keeps its own state; other agents can do without. */
  async briefOf({ agent, worktree, cwd }: Pick<Job, 'agent' | 'worktree' | 'cwd'>): Promise<string> {
    if (worktree === undefined || agent === CODER) return '';
    return this.brief(cwd).catch(() => '');
  }

  artifactsOf(rootId: string, jobId: string): ArtifactStore {
    const { redact } = this.#deps;
    return createArtifactStore({ dir: this.#artifactsDir(), rootId, jobId, redact: (text) => redact(text) });
  }

  #artifactsDir(): string {
    return join(this.#deps.home.dir, 'artifacts');
  }

  async #look(path: string): Promise<Looked> {
    const tracker = await this.#open(path);
    try {
      await tracker.refresh('asked');
      await tracker.persist().catch(() => {}); // the native coder writes it while it works there
      return { state: structuredClone(tracker.getSnapshot()) as RepoState, jobId: this.#jobsIn(path).at(-1)?.id ?? '' };
    } finally {
      await tracker.close();
    }
  }

  async #open(path: string): Promise<Tracker> {
    const { git, copies, clock, log, store } = this.#deps;
    const checkout = await git.locate(path);
    await copies.settle(checkout).catch(() => undefined); // what cannot be brought over is told by the operations on worktrees
    const jobs = this.#jobsIn(path);
    const last = jobs.at(-1)?.id;
    const base = (await this.#worktreeAt(path))?.base.commit ?? (await readHead(git, checkout)).commit;
    const tracker = new Tracker({
      workDir: path,
      stateDir: stateDirOf(this.#deps.home.dir, path),
      storyId: last === undefined ? '' : (blockOf(store, last)?.runId ?? last),
      jobId: last ?? 'none',
      base,
      clock,
      log,
      git: createGitSource(git, checkout, base),
      tell: () => {},
    });
    await tracker.load();
    // The coder writes the state of its worktree itself: folded from its events again it would be there twice.
    const others = jobs.filter(({ agent }) => agent !== CODER);
    const { seq } = tracker.getSnapshot();
    const news = others.flatMap(({ id }) => [...store.events.allOf(id)].filter((event) => event.seq > seq));
    for (const event of news.sort((a, b) => a.seq - b.seq)) tracker.apply(event);
    return tracker;
  }

  /** In the order they were made. */
  #jobsIn(path: string): Job[] {
    const { jobs } = this.#deps.store;
    const all = [...jobs.live(), ...jobs.lastEnded(MOST_JOBS)].map(({ job }) => job);
    return all.filter(({ cwd }) => cwd === path).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async #worktreeAt(path: string) {
    return (await this.#deps.worktrees.list()).find((each) => each.path === path);
  }
}
