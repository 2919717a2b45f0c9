import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobSockets } from '../../agents/launcher.ts';
import { jobSocketPath, jobToolsPath } from '../../agents/sandbox.ts';
import { lazily } from '../../base/lazily.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Core } from '../../protocol/operations.ts';
import { connect } from '../../surfaces/client/client.ts';
import { type SocketServerOptions, serveSocket } from '../../surfaces/http/server.ts';

interface JobSocketDeps extends Pick<SocketServerOptions, 'daemon' | 'log' | 'audit'> {
  sockets: string;
  core: () => Core;
}

interface Closing {
  close(): Promise<void>;
}

const CLI = fileURLToPath(new URL('../../../bin/reef.cjs', import.meta.url));

/** One socket per job: whoever calls through it is that job, and may do what a job may. Beside it its tools are served. */
export class JobSocketServers implements JobSockets {
  readonly #deps: JobSocketDeps;
  readonly #open = new Map<string, Promise<Closing[]>>();
  /** Made for the first job: the daemon starts without the protocol, and all jobs have the same tools. */
  readonly #tools = lazily(async () => {
    const { toolList } = await import('../../surfaces/mcp/server.ts');
    return toolList('job');
  });

  constructor(deps: JobSocketDeps) {
    this.#deps = deps;
  }

  async open(job: Pick<Job, 'id' | 'cwd'>): ReturnType<JobSockets['open']> {
    const path = jobSocketPath(this.#deps.sockets, job.id);
    const opening = this.#open.get(job.id) ?? this.#serve(job, path);
    this.#open.set(job.id, opening);
    await opening;
    return { name: 'reef', command: process.execPath, args: [CLI, 'mcp'], env: { REEF_SOCKET: path } };
  }

  async #serve({ id, cwd: folder }: Pick<Job, 'id' | 'cwd'>, path: string): Promise<Closing[]> {
    const { sockets, core, daemon, log, audit } = this.#deps;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const caller = { by: `job:${id}`, jobId: id };
    const socket = await serveSocket({ path, core: core(), caller, daemon, log, audit });
    const { serveJobTools } = await import('../../surfaces/mcp/job-tools.ts');
    const [client, tools] = [connect({ socket: path, surface: 'mcp' }), await this.#tools.get()];
    return [socket, await serveJobTools({ path: jobToolsPath(sockets, id), folder, client, tools })];
  }

  async close(jobId: string): Promise<void> {
    const opened = this.#open.get(jobId);
    this.#open.delete(jobId);
    const servers = (await opened?.catch(() => undefined)) ?? [];
    await Promise.all(servers.map((server) => server.close()));
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.keys()].map((jobId) => this.close(jobId)));
  }
}
