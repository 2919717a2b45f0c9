import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readEnvironment } from '../../../src/base/env.ts';
import { homeAt } from '../../../src/base/home.ts';
import type { Core } from '../../../src/protocol/operations.ts';
import type { AuditEntry } from '../../../src/store/audit-table.ts';
import { keyFile } from '../../../src/surfaces/http/credential.ts';
import { type SocketServerOptions, serveSocket } from '../../../src/surfaces/http/server.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { smallCore } from './small-core.ts';

export interface TestSocket {
  dir: string;
  /** What a command needs in its environment to find this home. */
  env: { REEF_HOME: string; XDG_STATE_HOME: string };
  path: string;
  credential: string;
  audit: AuditEntry[];
  logged: unknown[];
  stops: boolean[];
  close(): Promise<void>;
}

/** A home of its own with a real socket in it, served from a small core. */
export async function openSocket(
  core: Core = smallCore().core,
  changes: Partial<SocketServerOptions> = {},
): Promise<TestSocket> {
  const dir = temporaryFolder();
  const env = { REEF_HOME: dir, XDG_STATE_HOME: join(dir, 'state') };
  const { socket: path, person } = homeAt(dir, readEnvironment(env));
  mkdirSync(dirname(path), { recursive: true });
  const credential = keyFile(person);
  const [audit, logged, stops]: [AuditEntry[], unknown[], boolean[]] = [[], [], []];
  const server = await serveSocket({
    path,
    core,
    caller: { by: 'uid:1000' },
    credential,
    daemon: {
      info: () => ({
        pid: process.pid,
        startTime: '1',
        version: '0.1.0',
        home: dir,
        socket: path,
        startedAt: '2026-03-01T12:00:00.000Z',
        jobs: { live: 1, queued: 0 },
        lastSeq: 7,
      }),
      stop: async (killJobs) => {
        stops.push(killJobs);
        setImmediate(() => void server.close());
      },
      attach: async (id) => ({ file: 'tmux', args: ['-L', 'reef', 'attach', '-t', id] }),
      door: async () => ({ isOpen: false, tokenFile: join(dir, 'door.token') }),
    },
    log: { error: (message, fields) => logged.push([message, fields]) },
    audit: (row) => audit.push(row),
    ...changes,
  });
  return {
    dir,
    env,
    path,
    credential,
    audit,
    logged,
    stops,
    close: () => server.close(),
  };
}
