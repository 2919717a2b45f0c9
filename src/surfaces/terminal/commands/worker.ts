import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../base/clock.ts';
import { openDatabase } from '../../../fleet/database/open-database.ts';
import { drainHost } from '../../../fleet/host/drain.ts';
import { supervise } from '../../../process/supervise.ts';
import type { Command } from '../cli.ts';
import { addressOf, audited, type DatabaseOptions } from './fleet-database.ts';

interface WorkerOptions extends DatabaseOptions {
  host?: string;
  slots?: number;
  label?: string[];
  repoCache?: string;
}

const WORKER = fileURLToPath(new URL('../../../programs/worker/worker.ts', import.meta.url));
const DRAINED = 0;
const NOT_AGAIN = 78;

/** Small, so that it lives: it starts the worker, and starts it again when it dies. */
export const worker: Command<WorkerOptions> = async (cli, _args, options) => {
  const { host, slots, label = [], repoCache } = options;
  const url = addressOf(cli, options);
  // What a person must mend is said here, at once.
  await (await openDatabase(url, { env: cli.env, role: 'reef_app' })).close();
  const args = [
    ...[WORKER, ...(host === undefined ? [] : ['--host', host]), ...label.flatMap((each) => ['--label', each])],
    ...(slots === undefined ? [] : ['--slots', String(slots)]),
    ...(repoCache === undefined ? [] : ['--repo-cache', repoCache]),
  ];
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  return supervise({
    ...{ file: process.execPath, args, cwd: cli.cwd, clock: systemClock, stop: stop.signal },
    // Not as an argument, which everybody may read who lists processes.
    env: { ...cli.env.all, REEF_DATABASE_URL: url },
    finalCodes: [DRAINED, NOT_AGAIN],
  });
};

export const drain: Command<DatabaseOptions> = async (cli, [host = ''], named) => {
  const left = await audited(cli, { ...named, operation: 'drain', target: host }, (database) =>
    drainHost(database, host),
  );
  cli.print({ host, left }, () => `${host} takes no more runs, and ends when it has none: ${left} are left.`);
  return 0;
};
