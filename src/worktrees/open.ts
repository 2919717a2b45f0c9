import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { ChangeSignal } from '../events/change-signal.ts';
import type { Git } from '../git/git-command.ts';
import { LOCK_WAIT_MS } from '../git/hardening.ts';
import { identify } from '../process/identity.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Store } from '../store/store.ts';
import { KeyedLocks } from './keyed-locks.ts';
import { layoutOf } from './layout.ts';
import { PortBook } from './make/port-book.ts';
import type {
  GateSource,
  Notice,
  Parts,
  Point,
  ReferenceSource,
  RepositoryItems,
  RunCommand,
  WorktreeJobs,
} from './parts.ts';
import { foldOf } from './plan/plan-path.ts';
import { Records } from './records.ts';

export interface Settings {
  /** Worktrees with a folder at one time (T-20). */
  maxActive: number;
  overlapThreshold: number;
  slicerHops: number;
  /** Between two looks of the radar at one worktree (T-11). */
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
  jobs: WorktreeJobs;
  /** Whether a port of the loopback interface can be bound. */
  isPortFree(port: number): Promise<boolean>;
  gates?: GateSource;
  references?: ReferenceSource;
  items?: RepositoryItems;
  sessionOf?: Parts['sessionOf'];
  announce?(notice: Notice): void;
  settings?: Partial<Omit<Settings, 'references'>>;
  freeBytes?(path: string): Promise<number>;
  /** For tests: called between any two effects. */
  at?(point: Point): Promise<void> | void;
  lockWaitMs?: number;
}

export async function openParts(
  options: ManagerOptions,
  released: () => void,
): Promise<{ parts: Parts; settings: Settings }> {
  const { git, store, clock, log, jobs, run } = options;
  const place = await git.locate(options.repository);
  const where = { dataHome: options.dataHome, ...(options.root !== undefined && { root: options.root }) };
  const self = identify(process.pid);
  if (!self) throw new ReefError('internal', 'This process cannot be identified.');
  const parts: Parts = {
    ...{ git, place, clock, log, jobs, run, self, released },
    layout: await layoutOf(place, where),
    records: new Records(store, place.commonDir),
    locks: new KeyedLocks(),
    changed: new ChangeSignal(),
    fold: await foldOf(place.toplevel),
    gates: options.gates,
    items: options.items ?? {},
    ports: new PortBook({ path: join(options.stateHome, 'reef', 'ports.db'), isFree: options.isPortFree }),
    freeBytes: options.freeBytes ?? freeBytes,
    sessionOf: options.sessionOf ?? (() => Promise.resolve(undefined)),
    announce: options.announce ?? (() => {}),
    at: options.at ?? (() => {}),
    lockWaitMs: options.lockWaitMs ?? LOCK_WAIT_MS,
  };
  return { parts, settings: { ...DEFAULTS, ...options.settings, references: options.references } };
}

async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
}
