import type { CheckedBase } from '../protocol/base-gates.ts';
import { ReefError } from '../protocol/errors.ts';
import type { ComparedFailures, Json } from '../protocol/workflow.ts';
import {
  type Accepted,
  type AcceptOptions,
  acceptOptionsSchema,
  type Clash,
  type ConflictReport,
  type JudgedTree,
  type KeptWork,
  type OpenedPullRequest,
  type PruneReport,
  type PullRequestOptions,
  type PushedWorktree,
  type PushOptions,
  type ReconcileReport,
  type UpdatedWorktree,
  type WorktreeDiff,
  type WorktreeRecord,
  type WorktreeView,
} from '../protocol/worktrees.ts';
import { Background } from './background.ts';
import { type PruneOptions, prune, retryLeftovers } from './care/prune.ts';
import { reconcile } from './care/reconcile.ts';
import { type Deps, layoutNow, type ManagerOptions, openDeps, type Settings } from './deps.ts';
import { type PullRequestNews, readNews } from './forge/news.ts';
import { openPullRequest, refreshPullRequests } from './forge/pull-request.ts';
import { pushWorktree } from './forge/push.ts';
import { enterBranch, mergeBack } from './fork.ts';
import { beginReturn, discard, hold, recordOf } from './keep/put-aside.ts';
import { type BroughtTask, enterBrought } from './make/bring.ts';
import { abandon, build } from './make/build.ts';
import { findBaseAt } from './make/checks.ts';
import { accept, takeBack } from './merge/accept.ts';
import { compareWithBase } from './merge/base-failures.ts';
import { checkBase } from './merge/check-base.ts';
import { type GateFolder, type Judged, withGateCheckout } from './merge/gate-checkout.ts';
import { judgeNow } from './merge/gates.ts';
import { PendingMerges } from './merge/pending-merges.ts';
import { updateWorktree } from './merge/update.ts';
import { addEntries, declaredPlan, touchedBy } from './plan.ts';
import { claimWithin, draft, enter, type Task, waitsBehind } from './queue.ts';
import { announceHot, type Picture, Radar, recordObserved } from './radar/radar.ts';
import { type Foreign, foreignWork, reportOf } from './radar/report.ts';
import { type StoredWorktree, toRecord } from './records.ts';
import { folderOf } from './registry.ts';
import { runSetup } from './scripts.ts';
import { type OpenChanges, openChanges, viewsOf, worktreeDiff } from './views.ts';

/**
 * The worktrees of one repository, from the queue to the merge. One operation at a time works on a worktree, and it
 * records what it is about to do first.
 */
export class GitWorktreeManager {
  readonly #deps: Deps;
  readonly #settings: Settings;
  readonly #options: ManagerOptions;
  readonly #background: Background;
  readonly #radar: Radar;
  readonly #pending: PendingMerges;
  readonly #submitting = new Map<string, Promise<WorktreeRecord>>();
  #picture: Picture | undefined;
  #isRescanDue = false;

  static async open(options: ManagerOptions): Promise<GitWorktreeManager> {
    let manager: GitWorktreeManager | undefined;
    const { deps, settings } = await openDeps(options, () => manager?.evaluate());
    manager = new GitWorktreeManager(deps, settings, options);
    return manager;
  }

  private constructor(deps: Deps, settings: Settings, options: ManagerOptions) {
    this.#deps = deps;
    this.#settings = settings;
    this.#options = options;
    this.#background = new Background(options.clock, deps.log);
    this.#radar = new Radar(deps, settings);
    this.#pending = new PendingMerges(deps, {
      background: this.#background,
      pollMs: settings.pendingPollMs,
      retry: (id, retryOptions) => this.accept(id, retryOptions),
    });
  }

  /** Answers at once: the record is `queued`, or `creating` while its worktree is made. */
  submit(task: Task): Promise<WorktreeRecord> {
    const known = this.#deps.records.byTask(task.taskId);
    if (known) return Promise.resolve(toRecord(known));
    const under = this.#submitting.get(task.taskId) ?? this.#enter(task);
    this.#submitting.set(task.taskId, under);
    return under.finally(() => this.#submitting.delete(task.taskId));
  }

  /** Tasks are checked in parallel and entered in the order they came. */
  #enter(task: Task): Promise<WorktreeRecord> {
    const drafted = draft(this.#deps, task, this.#options.newId());
    drafted.catch(() => undefined); // it is awaited when its turn comes
    return this.#deps.locks.run('submit', async () => {
      const { row, claimed } = enter(this.#deps, await drafted, this.#settings);
      this.#make(claimed);
      return toRecord(row);
    });
  }

  /** Resolves once the worktree stands; rejects with the reason if it never will. */
  async whenReady(id: string, signal?: AbortSignal): Promise<WorktreeRecord> {
    const isMade = ({ status }: StoredWorktree) => status !== 'queued' && status !== 'creating';
    const row = await this.#deps.changed.until(() => this.#deps.records.get(id), { isMet: isMade, signal });
    if (row.status === 'lost') throw new ReefError('worktree_lost', row.failure?.message ?? 'Its folder is gone.');
    if (row.status === 'running' && row.setup.state === 'failed') {
      throw new ReefError('setup_failed', row.setup.message ?? 'The set-up failed.', { details: { id } });
    }
    if (!isMade(row)) signal?.throwIfAborted();
    return toRecord(row);
  }

  /** Where work that is asked for in this folder starts: a name for `base`, and the branch to merge it into, if any. */
  async startingPoint(from: { cwd?: string | undefined; base?: string | undefined }) {
    const { branch, commit } = await findBaseAt(this.#deps, from);
    return { base: branch === '' ? commit : `refs/heads/${branch}`, ...(branch !== '' && { target: branch }) };
  }

  record(id: string): WorktreeRecord {
    return toRecord(this.#deps.records.get(id));
  }

  openIds(): string[] {
    return this.#deps.records.open().map(({ id }) => id);
  }

  idOfTask(taskId: string): string | undefined {
    return this.#deps.records.byTask(taskId)?.id;
  }

  /** Jobs at work in it, or about to be. */
  jobsIn(id: string): string[] {
    return this.#deps.records.jobsIn(id);
  }

  /** Worktrees that this one waits for, and in which nothing goes on unless a person acts. */
  waitsBehind(id: string): string[] {
    return waitsBehind(this.#deps, this.#settings, id);
  }

  /** The folder; undefined while it is queued or being made. Throws the reason if there never will be one. */
  folder(id: string): string | undefined {
    const { status, path, setup } = this.#deps.records.get(id);
    if (status === 'queued' || status === 'creating') return undefined;
    if (setup.state === 'failed') throw new ReefError('setup_failed', setup.message ?? 'The set-up failed.');
    if (path === null) throw new ReefError('worktree_state', `The worktree ${id} is ${status}.`);
    return path;
  }

  /** Makes every worktree that may start now. */
  evaluate(): void {
    const { records, changed } = this.#deps;
    if (!this.#background.isEnding && records.open().some(({ status }) => status === 'queued')) {
      this.#make(records.transact(() => claimWithin(this.#deps, this.#settings)));
    }
    this.#pending.watch();
    changed.notify();
  }

  /** Jobs and runs may have ended: their room goes to those that wait. Nobody waiting is the usual case, and costs next to nothing. */
  workChanged(): void {
    if (this.#deps.records.open().some(({ status }) => status === 'queued')) this.evaluate();
  }

  /** The user changed where worktrees are made, or how many may be at work. */
  settingsChanged(): void {
    this.#background.run('taking over the configuration', async () => {
      this.#deps.layout = await layoutNow(this.#deps.checkout, this.#options);
      this.evaluate();
    });
  }

  #make(ids: readonly string[]): void {
    for (const id of ids) this.#background.run(`making worktree ${id}`, () => this.#build(id));
  }

  #build(id: string): Promise<StoredWorktree> {
    return this.#alone(id, async () => {
      try {
        return await build(this.#deps, id);
      } catch (error) {
        await abandon(this.#deps, id, error);
        throw error;
      } finally {
        this.evaluate();
      }
    });
  }

  #alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    return this.#background.track(this.#deps.locks.run(`worktree ${id}`, work));
  }

  /** At most five. */
  idsByPrefix(prefix: string): string[] {
    return this.#deps.records.idsByPrefix(prefix);
  }

  /** Of all there ever were but the branches of forks, oldest first. */
  titles(): { id: string; title: string; path: string | null }[] {
    return this.#deps.records
      .all()
      .flatMap(({ id, title, path, parentId }) => (parentId === undefined ? [{ id, title, path }] : []));
  }

  /** A whole id, the only one that begins so, or `@last`. */
  idOf(text: string): string {
    return this.#deps.records.resolve(text).id;
  }

  /** Impossible paths are in the report; the others are added. */
  async addToChangePlan(newFiles: string[], worktreeId: string): Promise<ConflictReport> {
    const id = this.idOf(worktreeId);
    let refused: { path: string; why: string }[] = [];
    this.#deps.records.change(id, (now) => {
      const added = addEntries(now.changePlan, newFiles, 'discovered');
      refused = added.refused;
      return { ...now, changePlan: added.entries };
    });
    const report = await this.#report(await this.#survey(), id);
    this.evaluate();
    return refused.length === 0 ? report : { ...report, refused };
  }

  /** Every clash that a plan would have. */
  async scan(plan: string[]): Promise<ConflictReport> {
    const paths = declaredPlan(plan).map(({ path }) => path);
    const about = { touched: touchedBy(paths, this.#deps.fold) };
    return reportOf(this.#deps, this.#settings, { ...(await this.#survey()), about });
  }

  async conflicts(): Promise<{ id: string; clashes: Clash[] }[]> {
    const survey = await this.#survey();
    const all: { id: string; clashes: Clash[] }[] = [];
    for (const { row } of survey.picture.subjects) {
      all.push({ id: row.id, clashes: (await this.#report(survey, row.id)).clashes });
    }
    return all;
  }

  async #report({ picture, foreign }: { picture: Picture; foreign: Foreign }, id: string): Promise<ConflictReport> {
    const { row, touched = { patterns: [] } } = picture.subjects.find((subject) => subject.row.id === id) ?? {};
    return reportOf(this.#deps, this.#settings, { picture, foreign, about: { id, path: row?.path ?? null, touched } });
  }

  async #survey(): Promise<{ picture: Picture; foreign: Foreign }> {
    return { picture: await this.#look(), foreign: await foreignWork(this.#deps) };
  }

  async #look(): Promise<Picture> {
    const picture = await this.#radar.look();
    this.#tellChanged(picture);
    this.#picture = picture;
    recordObserved(this.#deps, picture);
    announceHot(this.#deps, picture);
    return picture;
  }

  /** Those whose files are others than at the last look. */
  #tellChanged({ subjects }: Picture): void {
    const before = new Map(this.#picture?.subjects.map(({ row, sample }) => [row.id, sample?.tree]));
    for (const { row, sample } of subjects) {
      if (before.get(row.id) !== sample?.tree) this.#deps.store.changes.tell({ kind: 'worktree', id: row.id });
    }
  }

  /** Files may have changed: the radar looks again, at most every two seconds. */
  touched(): void {
    if (this.#isRescanDue) return;
    this.#isRescanDue = true;
    this.#background.run('the conflict radar', async () => {
      const goesOn = await this.#background.sleep(this.#settings.leastMs);
      this.#isRescanDue = false;
      if (goesOn) await this.#look();
    });
  }

  async accept(text: string, options: AcceptOptions = {}): Promise<Accepted> {
    const id = this.idOf(text);
    const wanted = acceptOptionsSchema.parse(options);
    const done = await this.#alone(id, () => accept(this.#deps, id, wanted)).finally(() => this.evaluate());
    this.touched();
    return done;
  }

  async discard(text: string): Promise<KeptWork> {
    const id = this.idOf(text);
    return this.#alone(id, () => discard(this.#deps, id)).finally(() => this.evaluate());
  }

  /** `session` is the state of its run, kept with the work. */
  async hold(text: string, session?: Json): Promise<KeptWork> {
    const id = this.idOf(text);
    return this.#alone(id, () => hold(this.#deps, id, session)).finally(() => this.evaluate());
  }

  /** Takes the ref of discarded work; the ref or id of held or lost work. */
  async restore(refOrId: string): Promise<WorktreeRecord> {
    const isRef = refOrId.startsWith('refs/');
    return this.reinflate(isRef ? (await recordOf(this.#deps, refOrId)).id : refOrId);
  }

  async reinflate(text: string): Promise<WorktreeRecord> {
    const id = this.idOf(text);
    await this.#alone(id, () => beginReturn(this.#deps, id));
    return toRecord(await this.#build(id));
  }

  /** Makes sure that work can go on in it: a merge that waits is taken back, and what was put aside comes back. False: nothing is left of it. */
  async reopen(id: string): Promise<boolean> {
    const { status, keptOn, setup } = this.#deps.records.get(id);
    if (status === 'accepted') {
      throw new ReefError('worktree_state', `The worktree ${id} is merged. Start a new task: reef run "…"`);
    }
    if (status === 'accepting') await this.#alone(id, () => takeBack(this.#deps, id));
    if (status === 'discarded' && keptOn === undefined) return false;
    if (status === 'held' || status === 'discarded' || status === 'lost') await this.reinflate(id);
    else if (setup.state === 'failed') await this.setup(id);
    return true;
  }

  /** Puts the worktrees of fork branches aside whose run has ended; their work stays on its ref. `isOver` is asked about the root. */
  async dropBranches(isOver: (rootId: string) => boolean): Promise<void> {
    const rootOf = (row: StoredWorktree): string =>
      row.parentId === undefined ? row.id : rootOf(this.#deps.records.get(row.parentId));
    const isLeft = ({ id, parentId, taskId }: StoredWorktree) =>
      parentId !== undefined && !taskId.startsWith('rerun ') && !this.#deps.records.isBusy(id);
    for (const row of this.#deps.records.open().filter(isLeft)) {
      if (!isOver(rootOf(row))) continue;
      await this.discard(row.id).catch((error: unknown) =>
        this.#deps.log.warn('the worktree of a branch could not be put aside', { worktree: row.id, error }),
      );
    }
  }

  /** A worktree for one branch of a fork. The same key gives the same worktree. */
  async branchOff(key: string, from: { id: string }): Promise<{ id: string; path: string }> {
    const order = { key, parentId: from.id, id: this.#options.newId() };
    const row = await this.#alone(from.id, () => enterBranch(this.#deps, order));
    const made = row.status === 'creating' ? await this.#build(row.id) : row;
    return { id: made.id, path: folderOf(made) };
  }

  /** After a clean merge the branch is discarded; in conflict it stays. */
  async mergeBack(branch: { id: string }, parent: { id: string }): Promise<{ conflicts: string[] }> {
    const joined = await this.#alone(parent.id, () => mergeBack(this.#deps, branch.id, parent.id));
    if (joined.conflicts.length === 0) await this.discard(branch.id);
    return joined;
  }

  /** A worktree for work that began on another host. The same task gives the same worktree, and it skips the queue. */
  async bring(task: BroughtTask): Promise<WorktreeRecord> {
    const { row, isNew } = await enterBrought(this.#deps, { ...task, id: this.#options.newId() });
    if (isNew) this.#make([row.id]);
    return toRecord(row);
  }

  /** In which all of them lie. */
  get root(): string {
    return this.#deps.layout.folder;
  }

  async setup(text: string): Promise<WorktreeView> {
    const id = this.idOf(text);
    await this.#alone(id, async () => {
      const setup = await runSetup(this.#deps, this.#deps.records.get(id));
      this.#deps.records.move(id, ['running'], (now) => ({ ...now, setup }));
    });
    this.#deps.changed.notify();
    return this.view(id);
  }

  /** Brings the target in; what conflicts is left with marks. */
  async update(text: string, into?: string): Promise<UpdatedWorktree> {
    const id = this.idOf(text);
    return this.#alone(id, () => updateWorktree(this.#deps, id, into)).finally(() => this.evaluate());
  }

  /** Runs the gates that have not judged its present files. */
  async gates(text: string): Promise<JudgedTree> {
    const id = this.idOf(text);
    return this.#alone(id, () => judgeNow(this.#deps, this.#deps.records.get(id)));
  }

  /** Calls `use` with a checkout of exactly these files, set up, in which no agent has worked. */
  inGateCheckout<T>(id: string, judged: Judged, use: (at: GateFolder) => Promise<T>): Promise<T> {
    const row = this.#deps.records.get(id);
    return this.#background.track(withGateCheckout(this.#deps, row, judged, use));
  }

  /** Sets up what is committed, or runs one gate on it. */
  baseGates(wanted: Parameters<typeof checkBase>[1], signal: AbortSignal): Promise<CheckedBase> {
    return this.#background.track(checkBase(this.#deps, wanted, signal));
  }

  /** What of a gate's failure in this worktree was there before the change. */
  async compareWithBase(id: string, gate: string, log: string): Promise<ComparedFailures | undefined> {
    const row = this.#deps.records.get(id);
    const gates = await this.#deps.gatesOf(id);
    return this.#background.track(compareWithBase(this.#deps, { row, gates, gate, log, base: row.base.commit }));
  }

  /** Puts its work on a branch of its own at a remote. */
  async push(text: string, options: PushOptions): Promise<PushedWorktree> {
    const id = this.idOf(text);
    const { base, tree, forge, ...pushed } = await this.#alone(id, () => pushWorktree(this.#deps, id, options));
    return pushed;
  }

  async pullRequest(text: string, options: PullRequestOptions): Promise<OpenedPullRequest> {
    const id = this.idOf(text);
    return this.#alone(id, () => openPullRequest(this.#deps, id, options));
  }

  /** What the checks and the reviewers of its pull request ask for. */
  pullRequestNews(text: string): Promise<PullRequestNews> {
    return readNews(this.#deps, this.idOf(text));
  }

  /** What came back up to then is not brought back again. */
  noteHeard(id: string, heard: string): void {
    this.#deps.records.change(id, (now) => ({ ...now, heard }));
  }

  /** Asks the forges about open pull requests that nobody has looked at for a while. */
  refreshPullRequests(): Promise<void> {
    return this.#background.track(this.#deps.locks.run('pull requests', () => refreshPullRequests(this.#deps)));
  }

  async diff(text: string): Promise<WorktreeDiff> {
    const id = this.idOf(text);
    return this.#alone(id, () => worktreeDiff(this.#deps, this.#deps.records.get(id)));
  }

  async openChanges(text: string): Promise<OpenChanges> {
    const id = this.idOf(text);
    return this.#alone(id, () => openChanges(this.#deps, this.#deps.records.get(id)));
  }

  async list({ all = false } = {}): Promise<WorktreeView[]> {
    const { records } = this.#deps;
    return this.#views(all ? records.all() : records.open());
  }

  async view(text: string): Promise<WorktreeView> {
    const [view] = await this.#views([this.#deps.records.resolve(text)]);
    if (!view) throw new ReefError('worktree_not_found', `There is no worktree ${text}.`);
    return view;
  }

  #views(rows: readonly StoredWorktree[]): Promise<WorktreeView[]> {
    return viewsOf(this.#deps, rows, { settings: this.#settings, picture: this.#picture });
  }

  reconcile(): Promise<ReconcileReport> {
    return this.#deps.locks.run('reconcile', () => reconcile(this.#deps));
  }

  prune(options: PruneOptions): Promise<PruneReport> {
    return this.#deps.locks.run('reconcile', () => prune(this.#deps, options));
  }

  retryLeftovers(): Promise<void> {
    return this.#deps.locks.run('reconcile', () => retryLeftovers(this.#deps));
  }

  /** Work that has begun is finished; nothing new begins. */
  async close(): Promise<void> {
    await this.#background.close();
    this.#deps.ports.close();
  }
}
