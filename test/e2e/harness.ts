import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readEnvironment } from '../../src/base/env.ts';
import { findHome, type Home } from '../../src/base/home.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { type Client, openClient } from '../../src/surfaces/client/client.ts';
import { initRepository } from '../support/repository.ts';
import { disposableFolder } from '../support/temporary-folder.ts';
import { eventually, until } from '../support/wait.ts';

export interface World {
  root: string;
  repository: string;
  home: Home;
  client: Client;
  /** The environment of every command and of the daemon. */
  env: NodeJS.ProcessEnv;
  /** Writes a script for the scripted agent and returns its name for `spawn`. */
  script(name: string, steps: unknown): string;
  configure(config: { reef?: object; [key: string]: unknown }): void;
  events(id: string): Promise<AgentEvent[]>;
  job(id: string): Promise<JobView>;
  /** Until the condition holds, at most `limitMs`; the job as it was then. */
  until(id: string, isMet: (job: JobView) => boolean, limitMs?: number): Promise<JobView>;
  /** SIGKILL to the daemon, as any crash; the next call starts another. */
  killDaemon(): Promise<number>;
  /** Asks the daemon to end and waits until it is gone; jobs run on. */
  stopDaemon(): Promise<void>;
  close(): Promise<void>;
}

/** Below `parent`, or else the folder for temporary things: a throw-away repository with a home, a user configuration and a real daemon, started by the first call. */
export function makeWorld(parent?: string): World {
  const folder = disposableFolder(parent);
  const root = folder.path;
  // A sandbox has a temporary folder of its own. Agents of a world that lies there meet their tests in files, so they have none.
  const wall = root.startsWith('/tmp/') ? { sandbox: 'off' } : undefined;
  const repository = join(root, 'repo');
  initRepository(repository);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: join(root, 'user'),
    XDG_CONFIG_HOME: join(root, 'config'),
    // Shared by all worlds: only the cache of compiled modules lies there.
    XDG_CACHE_HOME: join(import.meta.dirname, '../../node_modules/.cache'),
    TMPDIR: process.env.TMPDIR,
    NO_COLOR: '1',
  };
  mkdirSync(join(root, 'user'));
  mkdirSync(join(root, 'config', 'reef'), { recursive: true });
  const environment = readEnvironment(env);
  const home = findHome(environment, repository);
  const client = openClient({ env: environment, cwd: repository, surface: 'cli' });
  const world: World = {
    root,
    repository,
    home,
    client,
    env,
    script(name, steps) {
      const file = join(root, `${name}.yaml`);
      writeFileSync(file, stringify(steps));
      return `scripted:${file}`;
    },
    configure: ({ reef, ...config }) =>
      writeFileSync(
        join(root, 'config', 'reef', 'config.yaml'),
        stringify({ ...config, ...((reef || wall) && { reef: { ...wall, ...reef } }) }),
      ),
    events: (id) => allEvents(client, id),
    async job(id) {
      const { jobs } = await client.call('status', { id });
      const [job] = jobs;
      if (!job) throw new Error(`no job ${id}`);
      return job;
    },
    until(id, isMet, limitMs = 60_000) {
      const explain = async (job: JobView) => {
        const tail = (await world.events(id)).slice(-8).map((event) => JSON.stringify(event));
        return `job ${id} is ${job.status}\n${tail.join('\n')}`;
      };
      return eventually(() => world.job(id), isMet, { withinMs: limitMs, everyMs: 25, explain });
    },
    async killDaemon() {
      const daemon = await client.daemon();
      if (!daemon) throw new Error('no daemon runs');
      process.kill(daemon.pid, 'SIGKILL');
      await untilGone(daemon.pid);
      return daemon.pid;
    },
    async stopDaemon() {
      const daemon = await client.daemon();
      await client.stop(false);
      if (daemon) await untilGone(daemon.pid);
    },
    async close() {
      const daemon = await client.daemon().catch(() => undefined);
      await client.stop(true).catch(() => false);
      if (daemon) await untilGone(daemon.pid);
      folder[Symbol.dispose]();
    },
  };
  if (wall) world.configure({});
  return world;
}

async function allEvents(client: Client, id: string): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  let since = '0';
  for (;;) {
    const page = await client.call('output', { id, since, limit: 1000 });
    events.push(...(page.events as AgentEvent[]));
    since = page.nextCursor;
    if (!page.truncated) return events;
  }
}

async function untilGone(pid: number): Promise<void> {
  await until(`${pid} is gone`, () => !isAlive(pid), 180_000); // it ends a thousand jobs first, where a test made them
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
