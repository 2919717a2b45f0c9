import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import type { Git } from '../git/git-command.ts';
import type { Place } from '../git/place.ts';
import type { Oid } from '../git/ref-name.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import type { Json } from '../protocol/workflow.ts';
import type { KeyedLocks } from './keyed-locks.ts';
import type { Layout } from './layout.ts';
import type { PortBook } from './make/port-book.ts';
import type { Fold } from './plan/plan-path.ts';
import type { Records } from './records.ts';

/** Whoever runs jobs; passed in by the composition root. */
export interface WorktreeJobs {
  isBusy(worktreeId: string): boolean | Promise<boolean>;
  /** Ends the jobs of this worktree and of no other. */
  end(worktreeId: string): Promise<void>;
  /** Lets go of what only reads in it, such as its analysis server, before its folder goes. */
  vacate?(folder: string): Promise<void>;
}

export interface GateVerdict {
  /** `none`: there are no gates for this worktree. */
  state: 'passed' | 'failed' | 'stale' | 'none';
  /** Gates a person waived, and gates that are not configured. */
  waived: string[];
  notRun: string[];
}

/** Whoever runs gates (T-31). */
export interface GateSource {
  /** What the gates said of exactly this tree. */
  verdict(worktreeId: string, tree: Oid): Promise<GateVerdict>;
  /** Runs them in a folder that holds this tree. */
  judge(worktreeId: string, where: { path: string; tree: Oid }): Promise<GateVerdict>;
}

/** What the radar needs of the code index. */
export interface ReferenceSource {
  related(
    worktreeId: string,
    files: string[],
    hops: number,
  ): Promise<{ complete: boolean; files: { path: string; hops: number }[] }>;
}

/** Runs a program to its end; refuses by throwing, as where the repository is not trusted. */
export type RunCommand = (spec: {
  file: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
}) => Promise<{ code: number | null; signal: string | null; stdout: Buffer; stderr: Buffer; timedOut: boolean }>;

/** What the repository contributes once it is trusted: read from the main checkout each time. */
export interface RepositoryItems {
  /** The text of `.worktreeinclude`. */
  include?(): Promise<string | undefined>;
  scripts?(): Promise<{ setup?: readonly string[]; teardown?: readonly string[] }>;
}

export type Notice =
  | { kind: 'hot_clash'; worktrees: [string, string]; files: string[] }
  | {
      kind: 'setup_failed' | 'lost' | 'pending' | 'merged' | 'accept_failed' | 'left_over';
      worktreeId: string;
      message: string;
    };

/** Where a test may end the process: between any two effects. */
export type Point =
  | `create.${'claimed' | 'added' | 'made' | 'set_up'}`
  | `keep.${'begun' | 'captured' | 'kept'}`
  | `remove.${'begun' | 'moved' | 'forgotten' | 'deleted'}`
  | `accept.${'begun' | 'committed' | 'recorded' | 'archived' | 'advanced' | 'ended'}`;

/** What every piece of work on worktrees is given. */
export interface Parts {
  git: Git;
  /** The main checkout. */
  place: Place;
  records: Records;
  layout: Layout;
  clock: Clock;
  log: Logger;
  locks: KeyedLocks;
  ports: PortBook;
  changed: ChangeSignal;
  jobs: WorktreeJobs;
  gates: GateSource | undefined;
  items: RepositoryItems;
  run: RunCommand;
  self: ProcessIdentity;
  fold: Fold;
  /** Bytes free where worktrees are made. */
  freeBytes(path: string): Promise<number>;
  /** The session of a worktree's run, kept with it on hold (T-35). */
  sessionOf(worktreeId: string): Promise<Json | undefined>;
  announce(notice: Notice): void;
  /** A worktree no longer blocks others: the waiting are looked at again. */
  released(): void;
  at(point: Point): Promise<void> | void;
  lockWaitMs: number;
}
