import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { isLive } from '../../agents/job-status.ts';
import { attachCommand } from '../../agents/terminal/headful.ts';
import { openApp } from '../../app.ts';
import { writeAtomic } from '../../base/atomic-file.ts';
import { systemClock } from '../../base/clock.ts';
import { readEnvironment } from '../../base/env.ts';
import { homeAt } from '../../base/home.ts';
import { createLogger, type Logger } from '../../base/log.ts';
import { openLogFile } from '../../base/log-file.ts';
import { createRedactor } from '../../base/redact.ts';
import { version } from '../../base/version.ts';
import { identify } from '../../process/identity.ts';
import type { AttachInfo, DaemonInfo } from '../../protocol/daemon.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Core } from '../../protocol/operations.ts';
import type { AuditEntry } from '../../store/audit-table.ts';
import { keyFile } from '../../surfaces/http/credential.ts';
import { isPortFree, type LineOfClient, serveSocket } from '../../surfaces/http/server.ts';
import { DoorKeeper } from './door-keeper.ts';
import { lockOrLeave, prepareHome, refuseWorkers } from './home.ts';
import { watchHome } from './home-watch.ts';
import { JobSocketServers } from './job-sockets.ts';

const OWNER = { by: `uid:${process.getuid?.() ?? 0}` };

/** `reefd`: owns the jobs of one home. Any command starts it. It ends when there is nothing to do. */
const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    repository: { type: 'string' },
  },
});
if (values.home === undefined) throw new ReefError('bad_request', 'usage: daemon --home DIR [--repository DIR]');
await runDaemon({ dir: values.home, repository: values.repository });
// Jobs outlive the daemon: an open handle of one must not keep it alive.
process.exit(0);

async function runDaemon(options: { dir: string; repository: string | undefined }): Promise<void> {
  const env = readEnvironment();
  const home = homeAt(options.dir, env, options.repository);
  prepareHome(home);
  const lock = await lockOrLeave(home);
  const log = openLog(home.log);
  process.on('uncaughtException', (error) => {
    log.error('the daemon failed', { error });
    process.exit(70);
  });

  const { promise: stopAsked, resolve: askStop } = Promise.withResolvers<void>();
  const startedAt = new Date().toISOString();
  const self = identify(process.pid);
  let lastCallAt = systemClock.monotonicMs();
  let endJobs: (() => Promise<void>) | undefined; // for jobs that a run started after the others were killed

  const daemon = {
    info: (): DaemonInfo => ({
      pid: process.pid,
      startTime: self?.startTime ?? '',
      version,
      home: home.dir,
      socket: home.socket,
      startedAt,
      jobs: app.counts(),
      lastSeq: app.news.lastSeq(),
      ...(door.address !== undefined && { door: door.address }),
    }),
    async stop(killJobs: boolean) {
      if (killJobs) {
        await killAll(app.core);
        endJobs = () => killAll(app.core).catch((error: unknown) => log.warn('a job stays', { error }));
      }
      setImmediate(askStop);
    },
    attach: (id: string) => attach(app.core, home.dir, id),
    door: (asked: unknown) => door.ask(asked),
  };
  const audit = (entry: AuditEntry) => app.audit(entry);
  const jobSockets = new JobSocketServers({ sockets: home.sockets, core: () => app.core, daemon, log, audit });
  const app = await openOwn({ home, env, log, version, jobSockets, isPortFree }).catch(async (error: unknown) => {
    // Whoever waits for this daemon reads why there is none.
    await writeAtomic(home.daemon, `${JSON.stringify({ pid: process.pid, failed: toReefError(error).toBody() })}\n`);
    throw error;
  });
  await app.start();
  const homeWatch = watchHome({ home, log, openLog, stop: askStop, abandon: () => app.abandon() });
  const core = observed(app.core, () => {
    lastCallAt = systemClock.monotonicMs();
    homeWatch.check();
  });
  const credential = keyFile(home.person);
  const folder = home.repository ?? home.dir;
  const page = () => ({ repository: basename(folder), folder, version, lastSeq: app.news.lastSeq() });
  const { news, figures } = app;
  const door = new DoorKeeper({ home, env, log, core, audit, by: OWNER.by, info: page, news, figures });
  const tools = (line: LineOfClient) =>
    void import('../../surfaces/mcp/tool-line.ts').then(({ serveToolLine }) => serveToolLine({ core, audit, ...line }));
  const server = await serveSocket({ path: home.socket, core, caller: OWNER, credential, daemon, tools, log, audit });
  await writeAtomic(home.daemon, `${JSON.stringify({ ...self, socket: home.socket, version, startedAt })}\n`);
  log.info('the daemon is up', { pid: process.pid, version });
  void door.reopen();

  const idleCheck = setInterval(
    () => {
      const { live, queued } = app.counts();
      const isWorking = live > 0 || queued > 0 || door.address !== undefined;
      const isIdle = !isWorking && systemClock.monotonicMs() - lastCallAt > app.idleMs();
      if (isIdle) askStop();
    },
    Math.min(Math.max(app.idleMs(), 100), 10_000),
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => askStop());
  process.on('SIGHUP', () => {}); // a closed terminal ends no job

  await stopAsked;
  clearInterval(idleCheck);
  homeWatch.stop();
  await door.close();
  await server.close();
  await jobSockets.closeAll();
  await app.close(endJobs);
  await rm(home.daemon, { force: true });
  log.info('the daemon has ended', { pid: process.pid });
  lock.release();
}

async function openOwn(options: Parameters<typeof openApp>[0]): ReturnType<typeof openApp> {
  refuseWorkers(options.home);
  return openApp(options);
}

function openLog(path: string): Logger {
  const file = openLogFile(path);
  return createLogger({ write: (line) => file.write(line), clock: systemClock, redact: createRedactor([]) });
}

async function attach(core: Core, homeDir: string, id: string): Promise<AttachInfo> {
  const { jobs } = await core.status({ id }, { by: 'daemon', surface: 'cli' }, new AbortController().signal);
  const [job] = jobs;
  if (!job) throw new ReefError('job_not_found', `There is no job "${id}"`);
  return attachCommand(homeDir, job);
}

async function killAll(core: Core): Promise<void> {
  const caller = { by: 'daemon', surface: 'cli' } as const;
  const { jobs } = await core.status({}, caller, new AbortController().signal);
  const live = jobs.filter(({ status }) => isLive(status));
  await Promise.all(live.map(({ id }) => core.kill({ id }, caller, new AbortController().signal)));
}

/** The same core, but every call is noted first: a daemon in use does not end for idleness. */
function observed(core: Core, touch: () => void): Core {
  return new Proxy(core, {
    get(target, name) {
      touch();
      const member = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
