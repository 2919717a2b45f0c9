import { existsSync, statSync } from 'node:fs';
import type { Home } from '../../base/home.ts';
import type { Logger } from '../../base/log.ts';
import { sweep } from '../../process/sweep.ts';
import { ReefError } from '../../protocol/errors.ts';

const LOOK_MS = 1_000;

interface HomeWatchDeps {
  home: Pick<Home, 'dir' | 'lock' | 'log'>;
  log: Logger;
  openLog(path: string): Logger;
  /** Ends the daemon as ever: its jobs run on. */
  stop(): void;
  /** Stops all writing into the home, and names the jobs at work. */
  abandon(): string[];
}

/**
 * Looks whether the home is still the one that was opened: by file, because another one may lie at its path. Without its lock
 * the daemon ends, for another may start and takes the jobs up. Without its home nobody would find the jobs: they end as well.
 */
export function watchHome({ home, log, openLog, stop, abandon }: HomeWatchDeps) {
  const [dir, lock] = [fileAt(home.dir), fileAt(home.lock)];
  let isLockLost = false;
  let isLost = false;

  const leave = async () => {
    isLost = true;
    const jobs = abandon();
    for (const id of jobs) await sweep(id);
    // The log is perhaps moved with the home: the home that is there now says it too.
    const logs = existsSync(home.dir) ? [log, openLog(home.log)] : [log];
    for (const each of logs)
      each.error('the home was removed or replaced: its daemon and all its jobs have ended', { jobs });
    process.exit(1); // without the end of a daemon, which would write into another one's home
  };
  const look = () => {
    if (isLost) return;
    if (fileAt(home.dir) !== dir) void leave();
    else if (fileAt(home.lock) === lock) isLockLost = false;
    else if (isLockLost) {
      log.warn('the lock of the home was removed or replaced: the daemon ends, its jobs run on');
      stop();
    } else isLockLost = true; // a folder is not removed at once: perhaps the lock only went first
  };
  const timer = setInterval(look, LOOK_MS).unref();
  return {
    stop: () => clearInterval(timer),
    /** For whoever calls meanwhile. */
    check(): void {
      if (isLost) throw new ReefError('home_removed', `${home.dir} was removed or replaced`);
    },
  };
}

/** A number alone would not do: that of a removed folder is given to the next one. */
function fileAt(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && [found.dev, found.ino, found.birthtimeNs].join(' ');
}
