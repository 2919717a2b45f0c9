import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { RunResult, RunSpec } from '../base/programs.ts';
import { KeyedSerial } from '../base/serial.ts';
import { ChangeSignal } from '../events/change-signal.ts';
import type { Checkout } from '../git/checkout.ts';
import type { Git } from '../git/git-command.ts';
import { LOCK_WAIT_MS } from '../git/hardening.ts';
import type { PrivateGits } from '../git/private/private-gits.ts';
import type { Oid } from '../git/ref-name.ts';
import { identify, type ProcessIdentity } from '../process/identity.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import { type Layout, layoutOf } from './layout.ts';
import { PortBook } from './make/port-book.ts';
import { type Fold, foldOf } from './plan.ts';
import { Records } from './records.ts';

/** What the radar needs of the code index. */
export interface ReferenceSource {
  related(
    worktreePath: string,
    files: string[],
    hops: number,
  ): Promise<{ complete: boolean; files: { path: string; hops: number }[] }>;
}

/** Runs a program to its end. Throws where it refuses, as in a repository that is not trusted. */
type RunCommand = (spec: RunSpec & { abort?: AbortSignal | undefined }) => Promise<Omit<RunResult, 'truncated'>>;

/**
 * Runs a program as the user would in the main checkout, with their environment and their credentials, and nobody at its
 * terminal. Undefined: it is not on PATH.
 */
export type AsUser = (
  program: string,
  args: readonly string[],
  options: { timeoutMs: number; input?: string },
) => Promise<{ code: number | null; timedOut: boolean; stdout: string; stderr: string } | undefined>;

/** What a trusted repository contributes. It is read from the main checkout each time. */
interface RepositoryItems {
  /** The text of `.worktreeinclude`. */
  include?(): Promise<string | undefined>;
  scripts?(): Promise<{ setup?: readonly string[]; teardown?: readonly string[] }>;
}

/** A gate with its command, judged as in a run. */
export interface ConfiguredGate {
  gate: string;
  command: readonly string[];
  /** What its verdict depends on besides the files. */
  key: string;
  /** One that does not is shown and stops no merge. */
  blocks: boolean;
  run(folder: string, abort?: AbortSignal): Promise<{ passed: boolean; log: string }>;
}

/** The checkout in which the gates of a worktree run, as its set-up left it. One that no daemon knows is made anew. */
export interface GateCheckout {
  /** What the set-up depends on. */
  inputs: string;
  tree: Oid;
  /** The gates that have run on this tree here. */
  ran: Set<string>;
  /** The files that the set-up made: names, each with a NUL, and a digest of their state. */
  made: Buffer;
  state: string | undefined;
}

export type Notice =
  | { kind: 'hot_clash'; worktrees: [string, string]; files: string[] }
  | {
      kind: 'setup_failed' | 'lost' | 'pending' | 'merged' | 'accept_failed' | 'left_over' | 'pull_request';
      worktreeId: string;
      message: string;
    };

export type Copies = Pick<PrivateGits, 'settle' | 'rescue' | 'drop'>;

/** Where a test may end the process: between two effects. */
export type Point =
  | `create.${'claimed' | 'added' | 'made' | 'set_up'}`
  | `keep.${'begun' | 'captured' | 'kept'}`
  | `remove.${'begun' | 'moved' | 'forgotten' | 'deleted'}`
  | `accept.${'begun' | 'committed' | 'recorded' | 'archived' | 'advanced' | 'ended'}`;

/** What every operation on worktrees is given. */
export interface Deps {
  git: Git;
  /** What agents in sandboxes committed and nobody has brought over yet. */
  copies: Copies;
  /** The main checkout. */
  checkout: Checkout;
  records: Records;
  layout: Layout;
  clock: Clock;
  log: Logger;
  locks: KeyedSerial;
  ports: PortBook;
  /** By worktree. */
  gateCheckouts: Map<string, GateCheckout>;
  changed: ChangeSignal;
  store: Store;
  /** Ends what only reads in a folder, such as its analysis server, before the folder goes. */
  vacate(folder: string): Promise<void>;
  /** Called when a command has written files of a checkout, so that the code index need not find out. */
  edited(folder: string): void;
  /**
   * The gates that judge a worktree: those of its newest run, else the project's own. Throws `repo_untrusted` where nobody
   * has trusted what they would run.
   */
  gatesOf(worktreeId: string): Promise<ConfiguredGate[]>;
  items: RepositoryItems;
  run: RunCommand;
  asUser: AsUser;
  self: ProcessIdentity;
  fold: Fold;
  /** Bytes free where worktrees are made. */
  freeBytes(path: string): Promise<number>;
  announce(notice: Notice): void;
  /** A worktree no longer blocks others, so the queue is looked at again. */
  released(): void;
  at(point: Point): Promise<void> | void;
  lockWaitMs: number;
}

export interface Settings {
  /** Worktrees that may have a folder at the same time. */
  maxActive: number;
  overlapThreshold: number;
  slicerHops: number;
  /** Least time between two looks of the radar at one worktree. */
  leastMs: number;
  /** Time between two looks at a checkout for which a merge waits. */
  pendingPollMs: number;
  references: ReferenceSource | undefined;
}

const DEFAULTS = { maxActive: 8, overlapThreshold: 1, slicerHops: 2, leastMs: 2_000, pendingPollMs: 2_000 };

type Given = Pick<Deps, 'git' | 'store' | 'clock' | 'log' | 'run'>;
type Defaulted = Pick<
  Deps,
  'copies' | 'asUser' | 'vacate' | 'edited' | 'gatesOf' | 'items' | 'announce' | 'freeBytes' | 'at' | 'lockWaitMs'
>;

export interface ManagerOptions extends Given, Partial<Defaulted> {
  /** The main checkout. */
  repository: string;
  newId(): string;
  /** `XDG_DATA_HOME` and `XDG_STATE_HOME`. */
  dataHome: string;
  stateHome: string;
  /** `worktrees` of the user's configuration as it is now. */
  configured?(): { root?: string; max_active?: number };
  /** Whether a port of the loopback interface can be bound. */
  isPortFree(port: number): Promise<boolean>;
  references?: ReferenceSource;
  settings?: Partial<Omit<Settings, 'references'>>;
}

export async function openDeps(
  options: ManagerOptions,
  released: () => void,
): Promise<{ deps: Deps; settings: Settings }> {
  const { git, store, clock, log, run } = options;
  const checkout = await git.locate(options.repository);
  const self = identify(process.pid);
  if (!self) throw new ReefError('internal', 'This process cannot be identified.');
  const deps: Deps = {
    git,
    checkout,
    store,
    clock,
    log,
    run,
    self,
    released,
    layout: await layoutNow(checkout, options),
    records: new Records(store, checkout.commonDir),
    locks: new KeyedSerial(),
    gateCheckouts: new Map(),
    changed: new ChangeSignal(),
    fold: await foldOf(checkout.toplevel),
    copies: options.copies ?? NO_COPIES,
    asUser: options.asUser ?? (() => Promise.resolve(undefined)),
    vacate: options.vacate ?? (() => Promise.resolve()),
    edited: options.edited ?? (() => {}),
    gatesOf: options.gatesOf ?? (async () => []),
    items: options.items ?? {},
    ports: new PortBook({ path: join(options.stateHome, 'reef', 'ports.db'), isFree: options.isPortFree }),
    freeBytes: options.freeBytes ?? freeBytes,
    announce: options.announce ?? (() => {}),
    at: options.at ?? (() => {}),
    lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS,
  };
  const configured = { ...DEFAULTS, ...options.settings, references: options.references };
  const settings = {
    ...configured,
    get maxActive() {
      return options.configured?.().max_active ?? configured.maxActive;
    },
  };
  return { deps, settings };
}

const NO_COPIES: Copies = { settle: async () => {}, rescue: async () => {}, drop: async () => {} };

/** Where worktrees are made from now on. Those that stand stay where they are. */
export function layoutNow(
  checkout: Checkout,
  { dataHome, configured }: Pick<ManagerOptions, 'dataHome' | 'configured'>,
) {
  const root = configured?.().root;
  return layoutOf(checkout, { dataHome, ...(root !== undefined && { root }) });
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
