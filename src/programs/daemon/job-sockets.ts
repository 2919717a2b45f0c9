import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobSockets } from '../../agents/launcher.ts';
import { jobSocketPath } from '../../agents/sandbox.ts';
import type { Core } from '../../protocol/operations.ts';
import { type SocketServer, type SocketServerOptions, serveSocket } from '../../surfaces/http/server.ts';

interface JobSocketDeps extends Pick<SocketServerOptions, 'daemon' | 'log' | 'audit'> {
  sockets: string;
  core: () => Core;
}

const CLI = fileURLToPath(new URL('../../../bin/reef.cjs', import.meta.url));

/** One socket per job: whoever calls through it is that job, and may do what a job may. */
export class JobSocketServers implements JobSockets {
  readonly #deps: JobSocketDeps;
  readonly #open = new Map<string, SocketServer>();

  constructor(deps: JobSocketDeps) {
    this.#deps = deps;
  }

  async open(jobId: string): ReturnType<JobSockets['open']> {
    const path = jobSocketPath(this.#deps.sockets, jobId);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (!this.#open.has(jobId)) {
      const { daemon, log, audit } = this.#deps;
      const caller = { by: `job:${jobId}`, jobId };
      this.#open.set(jobId, await serveSocket({ path, core: this.#deps.core(), caller, daemon, log, audit }));
    }
    return { name: 'reef', command: process.execPath, args: [CLI, 'mcp'], env: { REEF_SOCKET: path } };
  }

  async close(jobId: string): Promise<void> {
    const server = this.#open.get(jobId);
    this.#open.delete(jobId);
    await server?.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((jobId) => this.close(jobId)));
  }
}
