import { resolve } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { AgentEvent } from '../../protocol/events.ts';
import type { Attribution, FileMeta, RepoState, StateNews, Task } from '../../protocol/repostate.ts';
import { oneLine } from '../snapshot/one-line.ts';
import { addNote, addRun, type FileHint, type Fold, foldEvent, hint } from './fold-events.ts';
import { type GitSource, type GitView, isPrivatePath } from './git-view.ts';
import { fingerprintOf, type Known, scan } from './scan.ts';
import { emptyState, type LoadReport, readState, writeState } from './state-file.ts';
import { holdWriterLock } from './writer-lock.ts';

export interface TrackerSettings {
  workDir: string;
  /** Where its state is kept, outside the repository. */
  stateDir: string;
  storyId: string;
  jobId: string;
  /** The commit that the work is compared with. Empty when there is none. */
  base: string;
  /** Absent outside a repository: then only tools report changes. */
  git?: GitSource;
  clock: Clock;
  log: Logger;
  tell(news: StateNews): void;
  checks?: Readonly<Record<string, string>>;
}

type RefreshReason = 'turn' | 'command' | 'load' | 'asked';

const MOST_FILES = 2_000;
const MOST_LINES = 10;

/** The state of one worktree: git says what is true, tools and events say who did it. The state file can be rebuilt at any time. */
export class Tracker {
  readonly #settings: TrackerSettings;
  #fold: Fold;
  #files = new Map<string, Known>();
  #lastScanNs = 0n;
  #hasScanned = false;
  #lock: { release(): Promise<void> } | undefined;

  constructor(settings: TrackerSettings) {
    this.#settings = settings;
    const state = { ...emptyState(settings.workDir, settings.storyId), base: settings.base };
    this.#fold = {
      state,
      jobId: settings.jobId,
      turn: 0,
      turns: new Map(),
      hints: [],
      hasRun: false,
      commands: new Map(),
      isReplay: true,
    };
  }

  beginTurn(turn: number): void {
    this.#fold.turn = turn;
  }

  /** Updates the state after a tool call. A failure is only logged, so the agent still gets its result. */
  async updateFromToolResult(tool: string, result: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await this.#take(tool, result);
    } catch (error) {
      this.#settings.log.warn('the repository state was not updated', { tool, error });
    }
  }

  apply(event: AgentEvent): void {
    foldEvent(this.#fold, event);
  }

  /** Looks at git and the disk. Attributes each change to a tool, to the command that ran, or to somebody outside. */
  async refresh(reason: RefreshReason): Promise<{ lines: string[] }> {
    const { workDir, git, log } = this.#settings;
    const begun = BigInt(this.#settings.clock.now().getTime()) * 1_000_000n;
    const hints = this.#takeHints();
    for (const { path, what } of hints) if (!this.#files.has(path)) this.#files.set(path, placeholder(path, what));
    const known = this.#files;
    const found = await scan({ root: workDir, source: git, known, lastScanNs: this.#lastScanNs }).catch(
      (error: unknown) => {
        log.warn('git does not answer: the state of the files is unknown', { error });
        return undefined;
      },
    );
    if (!found) {
      this.#fold.hints.unshift(...hints);
      this.#doubtAll();
      return { lines: [] };
    }
    const before = this.#files;
    this.#files = found.files;
    this.#lastScanNs = begun;
    const authors = this.#authors(found.changed, hints, reason);
    this.#sign(found.changed, hints, authors);
    this.#publish(found.view);
    const lines = this.#divergence(found.changed, before, authors);
    this.#hasScanned = true;
    this.#fold.isReplay = false;
    this.#fold.hasRun = false;
    return { lines };
  }

  getSnapshot(): Readonly<RepoState> {
    return this.#fold.state;
  }

  /** A failed write is only logged: the next write contains everything again. */
  async persist(): Promise<void> {
    this.#lock ??= await holdWriterLock(this.#settings.stateDir);
    await writeState(this.#settings.stateDir, this.#fold.state).catch((error: unknown) => {
      this.#settings.log.warn('repostate_write_failed', { error });
    });
  }

  async load(): Promise<LoadReport> {
    const report = await readState(this.#settings, this.#settings.clock);
    if (report.from === 'corrupt') this.#settings.log.warn('repostate_corrupt', { asideAs: report.asideAs });
    if (report.from === 'newer') this.#settings.log.warn('repostate_newer', { asideAs: report.asideAs });
    if ('state' in report) {
      const { workDir, storyId, base } = this.#settings;
      this.#fold.state = { ...report.state, workDir, storyId: storyId || report.state.storyId, base };
      this.#files = new Map(
        report.state.files.map((meta) => [meta.path, { meta: { ...meta }, isTouched: isTouched(meta) }]),
      );
      this.#hasScanned = true;
    }
    return report;
  }

  async close(): Promise<void> {
    await this.#lock?.release();
    this.#lock = undefined;
  }

  setTasks(tasks: readonly Task[]): void {
    this.#fold.state.openTasks = tasks.map((task) => ({ ...task }));
    this.#touch();
  }

  note(text: string): void {
    addNote(this.#fold, text);
    this.#touch();
  }

  /** The result of a check holds for the current fingerprint. */
  #recordCheck(name: string, ok: boolean): void {
    const { state, turn } = this.#fold;
    const others = state.checks.filter((check) => check.name !== name);
    state.checks = [...others, { jobId: this.#settings.jobId, name, ok, turn, fingerprint: state.fingerprint }];
    this.#touch();
  }

  async #take(tool: string, result: Readonly<Record<string, unknown>>): Promise<void> {
    this.#touch();
    if (result.noop === true) return;
    const path = typeof result.path === 'string' ? result.path : undefined;
    if (tool === 'run_command') await this.#takeRun(result);
    else if ((tool === 'write_file' || tool === 'edit_file') && path !== undefined && result.success === true) {
      hint(this.#fold, { path, what: 'wrote', via: 'tool' });
      await this.refresh('asked');
    } else if (tool === 'read_file' && path !== undefined) {
      hint(this.#fold, { path, what: 'read', via: 'tool' });
      await this.refresh('asked');
      this.#setRange(path, result.range);
    } else if (tool === 'ask_user' && typeof result.answer === 'string') this.note(`user: ${result.answer}`);
  }

  async #takeRun(result: Readonly<Record<string, unknown>>): Promise<void> {
    const command = String(result.command ?? '');
    const exit = typeof result.exit === 'number' ? result.exit : null;
    addRun(this.#fold, { command, exit, output: String(result.output ?? '') });
    await this.refresh('command');
    for (const [name, wanted] of Object.entries(this.#settings.checks ?? {})) {
      if (command.trim() === wanted) this.#recordCheck(name, exit === 0);
    }
  }

  #setRange(path: string, range: unknown): void {
    const [from, to] = Array.isArray(range) ? (range as unknown[]) : [];
    const read = this.#files.get(path)?.meta.read;
    if (read && typeof from === 'number' && typeof to === 'number') read.range = [from, to];
  }

  #touch(): void {
    this.#fold.state.lastUpdated = this.#settings.clock.now().toISOString();
  }

  /** A fact that git cannot confirm is unknown. */
  #doubtAll(): void {
    for (const { meta } of this.#files.values()) meta.status = 'unknown';
    this.#publish(undefined);
  }

  #takeHints(): FileHint[] {
    const root = this.#settings.workDir;
    const hints = this.#fold.hints.flatMap((hint) => {
      const path = hint.path.startsWith('/') ? relativeTo(root, hint.path) : hint.path;
      return path === undefined || isPrivatePath(path) ? [] : [{ ...hint, path }];
    });
    this.#fold.hints = [];
    return hints;
  }

  /** The author of each change: the one of a hint, else the command that ran, else somebody outside. */
  #authors(changed: readonly string[], hints: readonly FileHint[], reason: RefreshReason): Map<string, Attribution> {
    const { jobId, turn, hasRun } = this.#fold;
    const via = reason === 'command' || hasRun ? 'command' : 'outside';
    const guessed = this.#hasScanned ? changed : [];
    const authors = new Map<string, Attribution>(guessed.map((path) => [path, { jobId, turn, via }]));
    for (const { what, path, ...by } of hints) if (what === 'wrote') authors.set(path, by);
    return authors;
  }

  #sign(changed: readonly string[], hints: readonly FileHint[], authors: ReadonlyMap<string, Attribution>): void {
    for (const { path, what, ...by } of hints) {
      const known = this.#files.get(path);
      if (!known) continue;
      known.isTouched = true;
      if (what === 'read') known.meta.read = by;
    }
    for (const [path, by] of authors) {
      const known = this.#files.get(path);
      if (known) known.meta.wrote = by;
      if (changed.includes(path)) this.#settings.tell({ kind: 'repostate.changed', path, ...by });
    }
  }

  /** Reports changes from outside, and describes them for the tail of the prompt. */
  #divergence(
    changed: readonly string[],
    before: ReadonlyMap<string, Known>,
    authors: ReadonlyMap<string, Attribution>,
  ): string[] {
    const divergent = changed.filter(
      (path) => authors.get(path)?.via === 'outside' && before.get(path)?.meta.status !== 'unknown',
    );
    const lines = divergent.map((path) => {
      const [oldHash, newHash] = [before.get(path)?.meta.hash ?? '', this.#files.get(path)?.meta.hash ?? ''];
      this.#settings.tell({ kind: 'repostate.divergence', path, oldHash, newHash });
      const shown = oneLine(path);
      if (newHash === '') return `State delta: ${shown} was deleted outside this agent.`;
      if (oldHash === '') return `State delta: ${shown} was created outside this agent (${newHash.slice(0, 6)}).`;
      const hashes = `${oldHash.slice(0, 6)}→${newHash.slice(0, 6)}`;
      return `State delta: ${shown} changed outside this agent (${hashes}). Read it before editing.`;
    });
    const rest = lines.length - MOST_LINES;
    const more = rest > 0 ? [`State delta: ${rest} more files changed outside this agent: repo_state files.`] : [];
    return [...lines.slice(0, MOST_LINES), ...more];
  }

  #publish(view: GitView | undefined): void {
    const { state } = this.#fold;
    const all = [...this.#files.values()].map(({ meta }) => meta).sort(newestFirst);
    state.files = all.slice(0, MOST_FILES);
    state.filesOmitted = all.length - state.files.length;
    state.fingerprint = fingerprintOf(this.#files.values());
    state.source = this.#settings.git ? 'git' : 'tools';
    if (view) [state.head, state.branch] = [view.head, view.branch];
  }
}

function newestFirst(a: FileMeta, b: FileMeta): number {
  const turnOf = ({ wrote, read }: FileMeta) => Math.max(wrote?.turn ?? -1, read?.turn ?? -1);
  return turnOf(b) - turnOf(a) || (a.path < b.path ? -1 : 1);
}

function isTouched({ wrote, read }: FileMeta): boolean {
  return wrote !== undefined || read !== undefined;
}

function placeholder(path: string, what: 'wrote' | 'read'): Known {
  const status = what === 'read' ? 'unchanged' : 'created';
  return { meta: { path, hash: '', size: 0, modTime: '', type: '', status }, isTouched: true };
}

function relativeTo(root: string, path: string): string | undefined {
  const whole = resolve(path);
  return whole.startsWith(`${root}/`) ? whole.slice(root.length + 1) : undefined;
}
