/** What the socket offers besides the operations. No zod here: the command line loads this at every start. */

export interface DaemonInfo {
  pid: number;
  startTime: string;
  version: string;
  home: string;
  socket: string;
  startedAt: string;
  jobs: { live: number; queued: number };
  lastSeq: number;
  /** The address of the open door over TCP. A daemon with an open door does not end when it is idle. */
  door?: string;
  /** Of a worker. While the database is away agents go on, and what they do lands when it is back. */
  fleet?: { host: string; awaySince?: string };
}

/** What a person may ask about the door over TCP. `open` keeps what it does not name as it was. */
export type DoorAsk =
  | { do: 'open'; port?: number; host?: string; origin?: string; isRemoteShell?: boolean }
  | { do: 'login' | 'rotate' | 'close' | 'look' };

export interface DoorInfo {
  isOpen: boolean;
  /** Absent: it is closed. */
  address?: string;
  /** A second address, at which a tunnel or proxy of the user's brings people here. */
  origin?: string;
  /** The file with the token of scripts. */
  tokenFile: string;
  /** Of `login`: lets one browser in, within a minute. */
  code?: string;
}

/** Headers of a request: the credential of a person, and the name of an MCP client with the folder it works in. */
export const PERSON_HEADER = 'x-reef-person';
export const CLIENT_HEADER = 'x-reef-client';

/** The protocol a connection changes to when an MCP server asks for a line of its own. */
export const TOOL_LINE = 'reef-tools';

export const routes = {
  tools: '/v1/tools',
  operation: (name: string) => `/v1/op/${name}`,
  daemon: '/v1/daemon',
  stop: '/v1/daemon/stop',
  door: '/v1/daemon/door',
  attach: (id: string) => `/v1/attach/${encodeURIComponent(id)}`,
} as const;

/** Operations that may be repeated when an answer is lost. Listed by name, because the table is costly to load. */
export const readingOperations: ReadonlySet<string> = new Set([
  'status',
  'output',
  'wait',
  'inbox',
  'usage',
  'job_log',
  'events',
  'runs',
  'run_status',
  'run_follow',
  'run_compare',
  'run_replay',
  'run_log',
  'calls',
  'worktrees',
  'diff',
  'conflicts',
  'get_file_outline',
  'get_directory_outline',
  'get_symbol',
  'get_symbol_references',
  'get_callers',
  'get_callees',
  'get_impact',
  'get_tests',
  'find_symbols',
  'code_search',
  'explore_code',
  'code_index',
  'code_slice',
  'repo_state',
  'artifact_read',
  'context_calls',
]);

/** How to join the terminal of a headful job. */
export interface AttachInfo {
  file: string;
  args: string[];
}

/** What `reef host` says to a Reef on another machine, which brings this socket to itself. */
export interface HostInfo {
  version: string;
  socket: string;
  credential: string;
}

export function isHostInfo(value: unknown): value is HostInfo {
  const { version, socket, credential } = (value ?? {}) as { [Field in keyof HostInfo]?: unknown };
  return typeof version === 'string' && isSocketPath(socket) && typeof credential === 'string';
}

/** It becomes part of an argument of ssh, where a colon ends it. */
function isSocketPath(value: unknown): value is string {
  return typeof value === 'string' && /^\/[^:\p{Cc}]{1,200}$/u.test(value);
}
