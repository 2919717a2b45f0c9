/** What the socket speaks beside the operations. Plain types: the command line reads them at every start. */

export interface DaemonInfo {
  pid: number;
  startTime: string;
  version: string;
  home: string;
  socket: string;
  startedAt: string;
  jobs: { live: number; queued: number };
  lastSeq: number;
}

export const routes = {
  operation: (name: string) => `/v1/op/${name}`,
  daemon: '/v1/daemon',
  stop: '/v1/daemon/stop',
  attach: (id: string) => `/v1/attach/${encodeURIComponent(id)}`,
} as const;

/** How to join the terminal of a headful job. */
export interface AttachInfo {
  file: string;
  args: string[];
}
