import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobDoors } from './agents/launcher.ts';
import { doorSocket } from './agents/sandbox.ts';
import type { Core } from './protocol/operations.ts';
import { type SocketServer, type SocketServerOptions, serveSocket } from './surfaces/http/server.ts';

interface DoorParts extends Pick<SocketServerOptions, 'daemon' | 'log' | 'audit'> {
  homeDir: string;
  core: () => Core;
}

const CLI = fileURLToPath(new URL('../bin/reef.cjs', import.meta.url));
const LONGEST_SOCKET = 100;

/** A socket per job: whoever comes through it is that job, and may do what a job may. */
export class SocketDoors implements JobDoors {
  readonly #parts: DoorParts;
  readonly #open = new Map<string, SocketServer>();

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  async open(jobId: string): ReturnType<JobDoors['open']> {
    const path = doorSocket(this.#parts.homeDir, jobId);
    if (Buffer.byteLength(path) > LONGEST_SOCKET) return undefined;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    if (!this.#open.has(jobId)) {
      const { daemon, log, audit } = this.#parts;
      const caller = { by: `job:${jobId}`, jobId };
      this.#open.set(jobId, await serveSocket({ path, core: this.#parts.core(), caller, daemon, log, audit }));
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
