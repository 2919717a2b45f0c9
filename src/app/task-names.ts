import { isAbsolute, normalize } from 'node:path';
import { isLive } from '../agents/job-status.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import { blockOf, type RunSpec } from '../workflow/runs/spec.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import { titleOf } from '../worktrees/queue.ts';

interface NamesDeps {
  store: Store;
  worktrees: Pick<GitWorktreeManager, 'idsByPrefix' | 'titles'>;
}

export type Kind = 'job' | 'run' | 'worktree';
interface Named {
  kind: Kind;
  id: string;
}

/** A beginning of a title that is shorter names nothing: it would be met by accident. */
const SHORTEST_TITLE = 3;
/** As many ids as a table gives for a prefix: there may be more. */
const MOST_FOUND = 5;
/** How many of the newest tasks are looked at for a title. */
const MOST_TITLES = 500;

/**
 * One name for a task: a person may say the id of its run, its worktree or its job, a unique beginning of one of them,
 * `@last`, the key it was started with, the beginning of its title, or the folder of its worktree. Whatever part an operation needs
 * is found from it.
 */
export class TaskNames {
  readonly #deps: NamesDeps;

  constructor(deps: NamesDeps) {
    this.#deps = deps;
  }

  /** The part that is meant, or the text as it is where nothing has this name: the operation then says so. */
  part(text: string, wanted: Kind): string {
    const named = this.#find(text, wanted);
    if (!named) return text;
    const id = this.#partOf(named, wanted);
    if (id === undefined) throw missing(named, wanted);
    return id;
  }

  /** The one worktree that stands and has this folder or just this title. */
  standing(name: string): string | undefined {
    const all = this.#deps.worktrees.titles().filter(({ path }) => path !== null);
    const [found, ...more] = all.filter(({ path, title }) => path === name || title === name);
    return more.length === 0 ? found?.id : undefined;
  }

  /** The run of a task, or its job where it has none. */
  whole(text: string): Named | undefined {
    const named = this.#find(text, 'job');
    if (!named || named.kind === 'job') return named;
    const runId = this.#partOf(named, 'run');
    if (runId !== undefined) return { kind: 'run', id: runId };
    const jobId = this.#partOf(named, 'job');
    if (jobId === undefined) throw missing(named, 'job');
    return { kind: 'job', id: jobId };
  }

  /** Who hears a message: the job at work, or else the run, which says whether it waits for an answer. */
  listener(text: string): string {
    const whole = this.whole(text);
    if (whole?.kind !== 'run') return whole?.id ?? text;
    const jobId = this.isHalted(whole.id) ? undefined : this.jobOfRun(whole.id);
    const job = jobId === undefined ? undefined : this.#deps.store.jobs.get(jobId)?.job;
    return job && isLive(job.status) ? job.id : whole.id;
  }

  /** What can go on: a run that waits for an answer, or else its last job. */
  resumable(text: string): string {
    const whole = this.whole(text);
    if (whole?.kind !== 'run') return whole?.id ?? text;
    return this.isHalted(whole.id) ? whole.id : this.part(whole.id, 'job');
  }

  /** Undefined if no agent of it has started. */
  jobOfRun(id: string): string | undefined {
    return this.#jobOf({ kind: 'run', id });
  }

  isHalted(runId: string): boolean {
    return this.#deps.store.journal.openWaits().some((wait) => wait.runId === runId);
  }

  #find(text: string, wanted: Kind): Named | undefined {
    if (text === '@last') return this.#newest();
    if (isAbsolute(text)) return this.#byPath(normalize(text));
    const found = this.#byPrefix(text.toUpperCase());
    const exact = found.find(({ id }) => id === text.toUpperCase());
    const named = exact ?? this.#byKey(text);
    if (named) return named;
    const own = found.filter(({ kind }) => kind === wanted);
    if (own.length === 1) return own[0];
    const meant = found.length > 0 ? found : this.#byTitle(text);
    const parts = new Set(meant.flatMap((each) => this.#partOf(each, wanted) ?? []));
    const isSure = parts.size <= 1 && found.length < MOST_FOUND;
    if (isSure) return meant.find((each) => this.#partOf(each, wanted) !== undefined) ?? meant[0];
    const tasks = new Map(meant.map((each) => [this.#partOf(each, 'run') ?? each.id, this.#titleOf(each)]));
    throw new ReefError('ambiguous_id', `Several tasks begin with "${text}".`, {
      details: { tasks: [...tasks].map(([id, title]) => `${id}  ${title}`) },
    });
  }

  /** The key that whoever started it gave it. */
  #byKey(key: string): Named | undefined {
    const { store } = this.#deps;
    const run = store.runs.byKey(key);
    if (run) return { kind: 'run', id: run.id };
    const job = store.jobs.byKey(key)?.job;
    return job && { kind: 'job', id: job.id };
  }

  #byPrefix(prefix: string): Named[] {
    const { store, worktrees } = this.#deps;
    return [
      ...store.jobs.idsByPrefix(prefix).map((id): Named => ({ kind: 'job', id })),
      ...store.runs.idsByPrefix(prefix).map((id): Named => ({ kind: 'run', id })),
      ...worktrees.idsByPrefix(prefix).map((id): Named => ({ kind: 'worktree', id })),
    ];
  }

  /** Each task once, newest last: runs, jobs that nobody but a person started, and worktrees that were made by themselves. */
  #tasks(): (Named & { title: string })[] {
    const { store, worktrees } = this.#deps;
    const jobs = store.jobs
      .roots(MOST_TITLES)
      .map(({ job }) => ({ kind: 'job' as const, id: job.id, title: titleOf(job.task) }));
    const runs = store.runs
      .newest<RunSpec>(MOST_TITLES)
      .map(({ id, doc }) => ({ kind: 'run' as const, id, title: titleOf(doc.task) }));
    const lone = worktrees.titles().filter(({ id }) => this.#partOf({ kind: 'worktree', id }, 'job') === undefined);
    const made = lone
      .filter(({ id }) => this.#partOf({ kind: 'worktree', id }, 'run') === undefined)
      .map(({ id, title }) => ({ kind: 'worktree' as const, id, title }));
    return [...jobs, ...runs, ...made].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #newest(): Named | undefined {
    return this.#tasks().at(-1);
  }

  #byTitle(text: string): Named[] {
    if (text.length < SHORTEST_TITLE) return [];
    const wanted = text.toLowerCase();
    const begun = this.#tasks().filter(({ title }) => title.toLowerCase().startsWith(wanted));
    const whole = begun.filter(({ title }) => title.toLowerCase() === wanted);
    return whole.length > 0 ? whole : begun;
  }

  #byPath(folder: string): Named | undefined {
    const found = this.#deps.worktrees.titles().find(({ path }) => path === folder);
    return found && { kind: 'worktree', id: found.id };
  }

  #titleOf({ kind, id }: Named): string {
    const { store, worktrees } = this.#deps;
    if (kind === 'job') return titleOf(store.jobs.get(id)?.job.task ?? '');
    if (kind === 'run') return titleOf(store.runs.get<RunSpec>(id)?.doc.task ?? '');
    return worktrees.titles().find((each) => each.id === id)?.title ?? '';
  }

  #partOf(named: Named, wanted: Kind): string | undefined {
    if (named.kind === wanted) return named.id;
    if (wanted === 'run') return this.#runOf(named);
    return wanted === 'job' ? this.#jobOf(named) : this.#worktreeOf(named);
  }

  #runOf({ kind, id }: Named): string | undefined {
    const { store } = this.#deps;
    return kind === 'job' ? blockOf(store, id)?.runId : store.runs.byWorktree(id)[0]?.id;
  }

  #worktreeOf({ kind, id }: Named): string | undefined {
    const { store } = this.#deps;
    const own = kind === 'job' ? store.jobs.get(id)?.job.worktree : undefined;
    const runId = kind === 'run' ? id : this.#runOf({ kind, id });
    return own ?? ((runId !== undefined && store.runs.get(runId)?.worktreeId) || undefined);
  }

  /** Of a run the job that asks, or else the one at work, or else the last one. */
  #jobOf(named: Named): string | undefined {
    const { store } = this.#deps;
    const runId = named.kind === 'run' ? named.id : this.#runOf(named);
    if (runId === undefined) return store.jobs.newestIn(named.id);
    const ids = store.blocks.ofRun(runId).map(({ jobId }) => jobId);
    const asking = store.questions.open().find(({ question }) => question.path.some((id) => ids.includes(id)));
    const live = store.jobs.live().findLast(({ job }) => ids.includes(job.id));
    return asking?.jobId ?? live?.job.id ?? ids.at(-1);
  }
}

function missing({ kind, id }: Named, wanted: Kind): ReefError {
  if (wanted === 'run') return new ReefError('no_run', `The ${kind} ${id} belongs to no run.`);
  if (wanted === 'worktree') return new ReefError('no_worktree', `The ${kind} ${id} has no worktree of its own.`);
  return new ReefError('no_job_yet', `No agent has started in the ${kind} ${id} yet.`);
}
