import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobRuntime } from '../../agents/job-runtime.ts';
import { jobDir } from '../../agents/sandbox.ts';
import { systemClock } from '../../base/clock.ts';
import type { Home } from '../../base/home.ts';
import { adopt } from '../../process/identity.ts';
import { readLaunch } from '../../process/launch-folder.ts';
import { sweep, tagged } from '../../process/sweep.ts';
import type { Job } from '../../protocol/jobs.ts';
import { type JobRecord, JobTable } from '../../store/job-table.ts';
import { listens } from '../client/start-daemon.ts';
import { readDatabase } from './database.ts';
import { bad, byHand, type Check, check, type DoctorDeps, ok, type Result, warn } from './finding.ts';
import { restartDaemon, settledByDaemon } from './settle.ts';

type Deps = Pick<DoctorDeps, 'home' | 'client'>;

/** Compares every record of a job with its process, and every process of a job with its record. */
export function jobChecks(deps: Deps): Check[] {
  return [
    check('jobs', () => records(deps)),
    check('leftover processes', () => survivors(deps)),
    check('fifos', () => fifos(deps)),
  ];
}

type Live = JobRecord<Pick<JobRuntime, 'hasProcess' | 'isLaunching'>>;

async function liveJobs({ database }: Home): Promise<Live[]> {
  return (await readDatabase(database, (sqlite) => new JobTable(sqlite).live<Live['runtime']>())) ?? [];
}

const launchDir = ({ dir }: Home, { id, launch }: Job) => join(jobDir(dir, id), String(launch));

/** How record and process differ. Undefined: they agree. */
function whyLost(home: Home, { job, runtime }: Live, isServed: boolean): string | undefined {
  if (!runtime.hasProcess) {
    return runtime.isLaunching && !isServed ? 'was being started when its daemon ended' : undefined;
  }
  const { identity, exit } = readLaunch(launchDir(home, job));
  if (exit !== undefined) return `is recorded as ${job.status}, but its process ended at ${exit.at}`;
  const state = identity ? adopt(identity) : 'dead';
  if (state === 'alive') return undefined;
  const what = state === 'not_ours' ? 'is another process now' : 'is gone';
  return `is recorded as ${job.status}, but pid ${identity?.pid ?? 'unknown'} ${what}`;
}

const DAEMON_NOTICES_MS = 3_000;

async function records({ home, client }: Deps): Promise<Result[]> {
  const isServed = await listens(home.socket);
  const lost = async () => {
    const all = await liveJobs(home);
    return all.flatMap((each) => {
      const why = whyLost(home, each, isServed);
      return why === undefined ? [] : [{ job: each.job, why }];
    });
  };
  let found = await lost();
  if (found.length > 0 && isServed) {
    await systemClock.sleep(DAEMON_NOTICES_MS); // the daemon is about to notice one that ended just now
    found = await lost();
  }
  if (found.length === 0) {
    const count = (await liveJobs(home)).filter(({ runtime }) => runtime.hasProcess).length;
    return [ok(`${count} running, each as recorded`, join(home.dir, 'jobs'))];
  }
  const isLeft = (id: string) => async () => (await lost()).some(({ job }) => job.id === id);
  return found.map(({ job, why }) => {
    const evidence = launchDir(home, job);
    return isServed
      ? bad(`${job.id} ${why}, and the daemon has not noticed`, evidence, restartDaemon)
      : warn(`${job.id} ${why}`, evidence, settledByDaemon(client, isLeft(job.id)));
  });
}

function isOver(record: Live | undefined): boolean {
  return record?.job.endedAt !== undefined && !record.runtime.hasProcess && !record.runtime.isLaunching;
}

/** Processes are known by their tag and by our record of that job, never by their name. */
async function survivors({ home }: Deps): Promise<Result[]> {
  const tags = new Map<string, number[]>();
  for (const { tag, identity } of await tagged()) tags.set(tag, [...(tags.get(tag) ?? []), identity.pid]);
  const over = (among: readonly string[]) =>
    readDatabase(home.database, (sqlite) => {
      const table = new JobTable(sqlite);
      return among.filter((tag) => isOver(table.get<Live['runtime']>(tag)));
    });
  const ended = await over([...tags.keys()]);
  if (!ended || ended.length === 0) {
    return [ok('none', 'processes that carry the tag of an ended job')];
  }
  return ended.map((tag) =>
    warn(`${tag} has ended, but some of its processes still run`, `pids ${tags.get(tag)?.join(', ')}`, {
      does: 'end them',
      safe: true,
      async apply() {
        if ((await over([tag]))?.length === 0) return; // resumed meanwhile
        const { left } = await sweep(tag);
        if (left.length > 0) throw new Error(`still there: ${left.map(({ pid }) => pid).join(', ')}`);
      },
    }),
  );
}

/** Without its FIFO, a running agent can be neither answered nor told anything. */
async function fifos({ home }: Deps): Promise<Result[]> {
  const talking = (await liveJobs(home)).filter(({ job, runtime }) => runtime.hasProcess && job.mode !== 'headful');
  const deaf: Result[] = [];
  for (const { job } of talking) {
    const dir = launchDir(home, job);
    const { identity, exit } = readLaunch(dir);
    if (exit !== undefined || !identity || adopt(identity) !== 'alive') continue;
    if (existsSync(join(dir, 'prompt'))) continue; // its whole input is in a file
    const path = join(dir, 'in');
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFIFO()) continue;
    const what = found ? 'is not a FIFO' : 'is gone';
    const fix = byHand(`reef kill ${job.id}, then reef resume ${job.id}`);
    deaf.push(bad(`the input of ${job.id} ${what}, so it cannot receive messages`, path, fix));
  }
  return deaf.length > 0 ? deaf : [ok('every running job can receive messages', join(home.dir, 'jobs'))];
}
