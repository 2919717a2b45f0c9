import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { KeyedSerial } from '../base/serial.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import type { Checkout } from '../git/checkout.ts';
import type { Git } from '../git/git-command.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import type { Store } from '../store/store.ts';
import type { Layout } from './layout.ts';
import type { PortBook } from './make/port-book.ts';
import type { Fold } from './plan/plan-path.ts';
import type { Records } from './records.ts';

/** What the radar needs of the code index. */
export interface ReferenceSource {
  related(
    worktreePath: string,
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
export interface Deps {
  git: Git;
  /** The main checkout. */
  checkout: Checkout;
  records: Records;
  layout: Layout;
  clock: Clock;
  log: Logger;
  locks: KeyedSerial;
  ports: PortBook;
  changed: ChangeSignal;
  store: Store;
  /** Lets go of what only reads in a folder, such as its analysis server, before the folder goes. */
  vacate(folder: string): Promise<void>;
  /** The environment of a gate in this folder. */
  gateEnv(folder: string): Record<string, string>;
  items: RepositoryItems;
  run: RunCommand;
  self: ProcessIdentity;
  fold: Fold;
  /** Bytes free where worktrees are made. */
  freeBytes(path: string): Promise<number>;
  announce(notice: Notice): void;
  /** A worktree no longer blocks others: the waiting are looked at again. */
  released(): void;
  at(point: Point): Promise<void> | void;
  lockWaitMs: number;
}
