import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../base/clock.ts';
import { openDatabase } from '../../../fleet/database/open-database.ts';
import { drainHost } from '../../../fleet/host/drain.ts';
import { UNIT, unitText, writeUnit } from '../../../fleet/host/unit.ts';
import { supervise } from '../../../process/supervise.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';
import { addressOf, audited, type DatabaseOptions } from './fleet-database.ts';

interface WorkerOptions extends DatabaseOptions {
  host?: string;
  slots?: number;
  label?: string[];
  repoCache?: string;
  hub?: string;
}

const WORKER = fileURLToPath(new URL('../../../programs/worker/worker.ts', import.meta.url));
/** It was drained, or a person must mend what is wrong. */
const FINAL_CODES = [0, 78];

/** Small, so that it lives: it starts the worker, and starts it again when it dies. */
export const worker: Command<WorkerOptions> = async (cli, _args, options) => {
  const url = addressOf(cli, options);
  // What a person must mend is said here, at once.
  await (await openDatabase(url, { env: cli.env, role: 'reef_app' })).close();
  const args = [WORKER, ...workerArgs(options)];
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  return supervise({
    ...{ file: process.execPath, args, cwd: cli.cwd, clock: systemClock, stop: stop.signal },
    // Not as an argument, which everybody may read who lists processes.
    env: { ...cli.env.all, REEF_DATABASE_URL: url },
    finalCodes: FINAL_CODES,
  });
};

const REEF = fileURLToPath(new URL('../../../../bin/reef.cjs', import.meta.url));

export const installWorker: Command<WorkerOptions & { print?: true }> = async (cli, _args, options) => {
  const { databaseUrlFile, databaseUrl, print, repoCache } = options;
  if (databaseUrlFile === undefined && databaseUrl === undefined)
    throw new ReefError('bad_request', 'A unit does not see REEF_DATABASE_URL: name --database-url-file FILE');
  const file = databaseUrlFile === undefined ? undefined : resolve(cli.cwd, databaseUrlFile);
  addressOf(cli, { ...options, ...(file !== undefined && { databaseUrlFile: file }) }); // what is wrong with it is said now
  const address = file === undefined ? ['--database-url', databaseUrl ?? ''] : ['--database-url-file', file];
  const folder = repoCache === undefined ? {} : { repoCache: resolve(cli.cwd, repoCache) };
  const command = [process.execPath, REEF, 'worker', ...address, ...workerArgs({ ...options, ...folder })];
  const text = unitText({ command, path: cli.env.path, finalCodes: FINAL_CODES });
  if (print) {
    cli.print({ unit: text }, () => text.trimEnd());
    return 0;
  }
  const unit = await writeUnit(text, cli.env);
  const next = ['systemctl --user daemon-reload', `systemctl --user enable --now ${UNIT}`, 'loginctl enable-linger'];
  cli.print({ unit, next }, () => unit);
  cli.talk(`Type these; the last one lets it live on when you log out:\n  ${next.join('\n  ')}`);
  return 0;
};

/** As the worker itself reads them. */
function workerArgs({ host, slots, label = [], repoCache, hub }: WorkerOptions): string[] {
  return [
    ...(host === undefined ? [] : ['--host', host]),
    ...label.flatMap((each) => ['--label', each]),
    ...(slots === undefined ? [] : ['--slots', String(slots)]),
    ...(hub === undefined ? [] : ['--hub', checkedHub(hub)]),
    ...(repoCache === undefined ? [] : ['--repo-cache', repoCache]),
  ];
}

/** A token goes there with each push. */
function checkedHub(text: string): string {
  const url = URL.parse(text);
  const isOpen = url?.protocol === 'http:' && !LOOPBACK.has(url.hostname);
  if (url && !isOpen && /^https?:$/.test(url.protocol)) return text;
  throw new ReefError('bad_request', `--hub: ${text} is no https address, nor one of this machine`);
}

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

export const drain: Command<DatabaseOptions> = async (cli, [host = ''], named) => {
  const left = await audited(cli, { ...named, operation: 'drain', target: host }, (database) =>
    drainHost(database, host),
  );
  cli.print({ host, left }, () => `${host} takes no more runs, and ends when it has none: ${left} are left.`);
  return 0;
};
