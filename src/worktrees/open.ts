import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { KeyedSerial } from '../base/serial.ts';
import { ChangeSignal } from '../events/change-signal.ts';
import type { Git } from '../git/git-command.ts';
import { LOCK_WAIT_MS } from '../git/hardening.ts';
import { identify } from '../process/identity.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import type { Deps, Notice, Point, ReferenceSource, RepositoryItems, RunCommand } from './deps.ts';
import { layoutOf } from './layout.ts';
import { PortBook } from './make/port-book.ts';
import { foldOf } from './plan/plan-path.ts';
import { Records } from './records.ts';

export interface Settings {
  /** Worktrees with a folder at one time. */
  maxActive: number;
  overlapThreshold: number;
  slicerHops: number;
  /** Between two looks of the radar at one worktree. */
  leastMs: number;
  /** Between two looks at a checkout in which a merge waits. */
  pendingPollMs: number;
  references: ReferenceSource | undefined;
}

const DEFAULTS = { maxActive: 8, overlapThreshold: 1, slicerHops: 2, leastMs: 2_000, pendingPollMs: 2_000 };

export interface ManagerOptions {
  git: Git;
  /** The main checkout. */
  repository: string;
  store: Store;
  clock: Clock;
  log: Logger;
  newId(): string;
  /** `XDG_DATA_HOME` and `XDG_STATE_HOME`. */
  dataHome: string;
  stateHome: string;
  /** `worktrees.root` of the user's configuration. */
  root?: string;
  run: RunCommand;
  /** Whether a port of the loopback interface can be bound. */
  isPortFree(port: number): Promise<boolean>;
  vacate?: Deps['vacate'];
  gateEnv?: Deps['gateEnv'];
  references?: ReferenceSource;
  items?: RepositoryItems;
  announce?(notice: Notice): void;
  settings?: Partial<Omit<Settings, 'references'>>;
  freeBytes?(path: string): Promise<number>;
  /** For tests: called between any two effects. */
  at?(point: Point): Promise<void> | void;
  lockWaitMs?: number;
}

export async function openDeps(
  options: ManagerOptions,
  released: () => void,
): Promise<{ deps: Deps; settings: Settings }> {
  const { git, store, clock, log, run } = options;
  const checkout = await git.locate(options.repository);
  const where = { dataHome: options.dataHome, ...(options.root !== undefined && { root: options.root }) };
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
    layout: await layoutOf(checkout, where),
    records: new Records(store, checkout.commonDir),
    locks: new KeyedSerial(),
    changed: new ChangeSignal(),
    fold: await foldOf(checkout.toplevel),
    vacate: options.vacate ?? (() => Promise.resolve()),
    gateEnv: options.gateEnv ?? (() => ({})),
    items: options.items ?? {},
    ports: new PortBook({ path: join(options.stateHome, 'reef', 'ports.db'), isFree: options.isPortFree }),
    freeBytes: options.freeBytes ?? freeBytes,
    announce: options.announce ?? (() => {}),
    at: options.at ?? (() => {}),
    lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS,
  };
  return { deps, settings: { ...DEFAULTS, ...options.settings, references: options.references } };
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
