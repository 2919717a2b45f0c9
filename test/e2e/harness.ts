import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { readEnvironment } from '../../src/base/env.ts';
import { findHome, type Home } from '../../src/base/home.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import type { JobView } from '../../src/protocol/job-operations.ts';
import type { Client } from '../../src/surfaces/client/client.ts';
import { openClient } from '../../src/surfaces/client/open.ts';

export interface World {
  root: string;
  repository: string;
  home: Home;
  client: Client;
  /** The environment of every command and of the daemon. */
  env: NodeJS.ProcessEnv;
  /** Writes a script for the scripted agent and returns its name for `spawn`. */
  script(name: string, steps: unknown): string;
  configure(config: unknown): void;
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

/** A throw-away repository with a home, a user configuration and a real daemon, started by the first call. */
export function makeWorld(prefix = 'reef-e2e-'): World {
  const root = mkdtempSync(join(tmpdir(), prefix));
  const repository = join(root, 'repo');
  mkdirSync(repository);
  const git = (...args: string[]) => execFileSync('git', ['-C', repository, ...args], { stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  git('-c', 'user.name=Test', '-c', 'user.email=test@example.invalid', 'commit', '-q', '--allow-empty', '-m', 'start');
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
    configure: (config) => writeFileSync(join(root, 'config', 'reef', 'config.yaml'), stringify(config)),
    events: (id) => allEvents(client, id),
    async job(id) {
      const { jobs } = await client.call('status', { id });
      const [job] = jobs;
      if (!job) throw new Error(`no job ${id}`);
      return job;
    },
    async until(id, isMet, limitMs = 60_000) {
      const deadline = Date.now() + limitMs;
      for (;;) {
        const job = await world.job(id);
        if (isMet(job)) return job;
        if (Date.now() > deadline) {
          const tail = (await world.events(id)).slice(-8).map((event) => JSON.stringify(event));
          throw new Error(`job ${id} is ${job.status} after ${limitMs} ms\n${tail.join('\n')}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
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
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
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
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
