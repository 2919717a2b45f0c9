import { readFileSync } from 'node:fs';
import type { Environment } from '../../base/env.ts';
import { findHome, type Home } from '../../base/home.ts';
import {
  type AttachInfo,
  type DaemonInfo,
  type DoorAsk,
  type DoorInfo,
  readingOperations,
  routes,
} from '../../protocol/daemon.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { OperationInput, OperationName, OperationOutput } from '../../protocol/operations.ts';
import { type Exchange, exchange, NobodyListens } from './request.ts';
import { openToolLine, type ToolLine } from './tool-line.ts';

/** An optional field may be undefined: JSON leaves it out. */
export type Sent<T> = { [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? T[K] | undefined : T[K] };

export interface Client {
  /** Starts a daemon when none listens. Aborting the signal ends the call in the daemon too. */
  call<N extends OperationName>(
    operation: N,
    input: Sent<OperationInput<N>>,
    options?: CallOptions,
  ): Promise<OperationOutput<N>>;
  /** Never starts a daemon; undefined when none listens. */
  daemon(options?: { signal?: AbortSignal }): Promise<DaemonInfo | undefined>;
  /** Asks the daemon to end; false when none listened. */
  stop(killJobs: boolean): Promise<boolean>;
  attach(id: string): Promise<AttachInfo>;
  /** A line for the reading tools of the MCP client of this name. Never starts a daemon. Absent where there is none. */
  toolLine?(client: string): Promise<ToolLine | undefined>;
  /** Starts a daemon when none listens. */
  door(asked: Sent<DoorAsk>): Promise<DoorInfo>;
}

interface CallOptions {
  signal?: AbortSignal;
  /** The name and folder of an MCP client. */
  client?: string;
  /** The person has just agreed to this call in an MCP client, so that it may show the credential. */
  isAgreed?: boolean;
}

export interface Connection {
  socket: string;
  surface: 'cli' | 'mcp';
  /** Absent inside a job: only a running daemon serves its socket. */
  startDaemon?: () => Promise<void>;
  /** Reads the credential of the person. The command line shows it always, an MCP server only when the person has agreed. */
  credential?: () => string | undefined;
}

/** They run the project's set-up or gates. */
const LONG: readonly OperationName[] = [
  'accept',
  'worktree_gates',
  'base_gates',
  'worktree_update',
  'worktree_push',
  'worktree_pr',
  'run_from_pr',
  'worktree_setup',
  'worktree_create',
];

type Request = Pick<Exchange, 'method' | 'path' | 'body' | 'signal' | 'isRepeatable' | 'isLong' | 'client'> &
  Pick<CallOptions, 'isAgreed'>;

export function connect({ socket, surface, startDaemon, credential }: Connection): Client {
  // Read anew each time: the first daemon of a home makes it.
  const once = ({ isAgreed = surface === 'cli', ...request }: Request) =>
    exchange({ socket, surface, credential: isAgreed ? credential?.() : undefined, ...request });
  const orStart = async (request: Request) => {
    try {
      return await once(request);
    } catch (error) {
      if (!(error instanceof NobodyListens)) throw error;
      if (!startDaemon) throw nobody(socket, error);
    }
    await startDaemon();
    return once(request).catch((error: unknown) => {
      throw error instanceof NobodyListens ? nobody(socket, error) : error;
    });
  };
  const ifRunning = (request: Request) =>
    once(request).catch((error: unknown) => {
      if (error instanceof NobodyListens) return undefined;
      throw error;
    });

  return {
    call: async (operation, input, { signal, ...who } = {}) =>
      (await orStart({
        method: 'POST',
        path: routes.operation(operation),
        body: input,
        signal,
        ...who,
        isLong: LONG.includes(operation),
        isRepeatable: readingOperations.has(operation) || (input as { key?: string }).key !== undefined,
      })) as never,
    daemon: async ({ signal } = {}) =>
      (await ifRunning({ method: 'GET', path: routes.daemon, isRepeatable: true, signal })) as DaemonInfo | undefined,
    stop: async (killJobs) =>
      (await ifRunning({ method: 'POST', path: routes.stop, body: { killJobs } })) !== undefined,
    ...(surface === 'mcp' && { toolLine: (client: string) => openToolLine(socket, client) }),
    attach: async (id) => (await orStart({ method: 'GET', path: routes.attach(id) })) as AttachInfo,
    door: async (asked) => (await orStart({ method: 'POST', path: routes.door, body: asked })) as DoorInfo,
  };
}

function nobody(socket: string, cause: unknown): ReefError {
  return new ReefError('daemon_unavailable', `Nobody listens at ${socket}`, { cause });
}

/** A client of the daemon of this folder or, inside a job, of the socket of that job. Does nothing before the first call. */
export function openClient({
  env,
  cwd,
  surface,
  onSlow,
}: Pick<Connection, 'surface'> & { env: Environment; cwd: string; onSlow?: () => unknown }): Client {
  if (env.reefSocket) return connect({ socket: env.reefSocket, surface });
  const home = findHome(env, cwd);
  return connect({
    socket: home.socket,
    surface,
    ...(env.isInJob ? {} : { credential: () => readCredential(home.person) }),
    startDaemon: async () => {
      // Imported late, because few commands have to start a daemon.
      const { launchDaemon } = await import('./launch-daemon.ts');
      await launchDaemon(home, { env, surface, onSlow });
    },
  });
}

/** A client of a daemon that runs already: it starts none. Whoever may read the credential of that home is its person. */
export function clientOfHome({ socket, person }: Pick<Home, 'socket' | 'person'>): Client {
  return connect({ socket, surface: 'cli', credential: () => readCredential(person) });
}

/** Undefined before the first daemon of the home has made it, or where it must not be read. */
function readCredential(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
