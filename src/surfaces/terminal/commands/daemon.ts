import { systemClock } from '../../../base/clock.ts';
import type { DaemonInfo } from '../../../protocol/daemon.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { isAlive } from '../../client/start-daemon.ts';
import { duration } from '../../render/quantities.ts';
import type { Cli, Command } from '../cli.ts';

const NOT_RUNNING = 69;
const STOP_LIMIT_MS = 15_000;
const POLL_MS = 20;

export const daemonStatus: Command<object> = async (cli) => {
  const { dir, socket } = cli.home();
  const info = await cli.client().daemon();
  cli.print(info ? { running: true, ...info } : { running: false, home: dir, socket }, () => {
    if (!info) return `not running  ${dir}`;
    const up = duration(cli.style.now.getTime() - Date.parse(info.startedAt));
    const door = info.door === undefined ? '' : `, open at ${info.door}`;
    const fleet = info.fleet ? `, worker ${info.fleet.host}` : '';
    return `running  pid ${info.pid}, up ${up}, ${info.jobs.live} jobs live, ${info.jobs.queued} queued${door}${fleet}  ${info.home}`;
  });
  tellAway(cli, info?.fleet);
  return info ? 0 : NOT_RUNNING;
};

/** Beside what was asked for: why a run of a fleet does not go on just now. */
export function tellAway(cli: Cli, fleet: DaemonInfo['fleet']): void {
  if (fleet?.awaySince === undefined) return;
  cli.talk(
    `The fleet's database is away since ${fleet.awaySince}: agents go on, and what they do lands when it is back.`,
  );
}

/** Stopping a daemon that does not run is no failure. Agents keep running unless `--kill-jobs` ends them. */
export const daemonStop: Command<{ killJobs?: true }> = async (cli, _args, { killJobs = false }) => {
  const client = cli.client();
  const pid = (await client.daemon())?.pid;
  const stopped = await client.stop(killJobs);
  const deadline = systemClock.monotonicMs() + STOP_LIMIT_MS;
  // Waits until its process is gone, so that the next command can start another one.
  while (isAlive(pid)) {
    if (systemClock.monotonicMs() > deadline)
      throw new ReefError('daemon_unavailable', 'The daemon was told to stop and is still running');
    await systemClock.sleep(POLL_MS);
  }
  cli.print({ stopped }, () => (stopped ? 'stopped' : 'was not running'));
  return 0;
};
