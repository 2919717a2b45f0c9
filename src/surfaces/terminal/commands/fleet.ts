import { userInfo } from 'node:os';
import { writeAtomic } from '../../../base/atomic-file.ts';
import { systemClock } from '../../../base/clock.ts';
import { openDatabase } from '../../../fleet/database/open-database.ts';
import { prepareDatabase } from '../../../fleet/database/prepare-database.ts';
import { newPassword } from '../../../fleet/database/roles.ts';
import { migrateDbos } from '../../../fleet/engine/dbos.ts';
import { listHosts, listRuns } from '../../../fleet/hub/fleet-view.ts';
import { addFirstAdmin } from '../../../fleet/hub/people.ts';
import { startRun } from '../../../fleet/hub/start-run.ts';
import { setBudget } from '../../../fleet/store/budgets.ts';
import { newestCursor, readEvents } from '../../../fleet/store/fleet-events.ts';
import { applyRetention, KEEP } from '../../../fleet/store/retention.ts';
import { heading, oneLine, table } from '../../render/columns.ts';
import type { Command } from '../cli.ts';
import { addressOf, audited, type DatabaseOptions, operatorName, withDatabase } from './fleet-database.ts';

interface InitOptions extends DatabaseOptions {
  admin?: string;
  appUrlFile?: string;
}

/** Prepares the database, or brings it to the schema of this version. The first time it prints the token of an admin. */
export const init: Command<InitOptions> = async (cli, _args, { admin, appUrlFile, ...named }) => {
  const url = addressOf(cli, named);
  const migrations = await prepareDatabase(url, cli.env);
  await migrateDbos(url, cli.env);
  const database = await openDatabase(url, { env: cli.env, role: 'reef_admin' });
  try {
    const first = await addFirstAdmin(database, admin ?? userInfo().username);
    if (appUrlFile !== undefined) {
      const app = await newPassword(url, 'reef_app', cli.env);
      await writeAtomic(appUrlFile, `${app}\n`);
    }
    const written = appUrlFile === undefined ? {} : { appUrlFile };
    cli.print({ migrations, ...first, ...written }, () => (first ? first.token : 'There are people already.'));
    cli.talk(
      migrations.length > 0 ? `The database now has schema ${migrations.at(-1)}.` : 'The database was up to date.',
    );
    if (first)
      cli.talk(
        `This is the token of ${first.name}, an admin. It is shown only once and good until ${first.expiresAt}.`,
      );
    if (appUrlFile !== undefined) cli.talk(`The address for workers is in ${appUrlFile}.`);
    return 0;
  } finally {
    await database.close();
  }
};

export const hosts: Command<DatabaseOptions> = async (cli, _args, named) => {
  const found = await withDatabase(cli, named, listHosts);
  cli.print({ hosts: found }, () => {
    if (found.length === 0) return 'No hosts yet: reef worker, on each machine that works.';
    const lines = found.map(({ id, state, used, slots, version, beat, labels }) =>
      [id, state, `${used}/${slots}`, version ?? '', beat?.toISOString() ?? 'never', labels.join(' ')].map((text) => ({
        text,
      })),
    );
    return table(
      [heading(['HOST', 'STATE', 'SLOTS', 'VERSION', 'LAST BEAT', 'LABELS'], cli.style), ...lines],
      cli.style.width,
    );
  });
  return 0;
};

export const runs: Command<DatabaseOptions> = async (cli, _args, named) => {
  const found = await withDatabase(cli, named, (database) => listRuns(database, {}));
  cli.print({ runs: found }, () => {
    if (found.length === 0) return 'No runs yet.';
    const lines = found.map(({ id, repository, status, host, by, task }) =>
      [id, repository, status, host ?? '', by, oneLine(task, 60)].map((text) => ({ text })),
    );
    return table(
      [heading(['RUN', 'REPOSITORY', 'STATUS', 'HOST', 'BY', 'TASK'], cli.style), ...lines],
      cli.style.width,
    );
  });
  return 0;
};

interface RunOptions extends DatabaseOptions {
  workflow?: string;
  agent?: string;
  need?: string[];
  priority: 'high' | 'normal' | 'low';
}

export const startFleetRun: Command<RunOptions> = async (cli, [repository = '', task = ''], options) => {
  const { workflow, agent, need = [], priority, ...named } = options;
  const spec = { ...(workflow !== undefined && { workflow }), ...(agent !== undefined && { agent }) };
  // Hosts tell which agents work there; one with a colon in its name is no program of its own.
  const needs = agent === undefined || agent.includes(':') ? need : [...new Set([...need, `agent=${agent}`])];
  const place = { needs, priority: ['high', 'normal', 'low'].indexOf(priority), by: operatorName() };
  const queued = await audited(cli, { ...named, operation: 'run', target: repository }, (database) =>
    startRun(database, { repository, task, spec, ...place }),
  );
  cli.print(queued, () => `Run ${queued.id} is queued; reef fleet runs shows where it is.`);
  return 0;
};

const PAGE = 200;
const LOOK_MS = 1_000;

export const events: Command<DatabaseOptions & { since?: string; follow?: true }> = (cli, _args, options) => {
  const { since, follow, ...named } = options;
  return withDatabase(cli, named, async (database) => {
    let after = since ?? (follow ? await newestCursor(database) : undefined);
    for (;;) {
      const page = await readEvents(database, { after, limit: PAGE });
      for (const event of page.events) {
        const { host, repository, at, type, job } = event;
        cli.print(event, () => [at.toISOString(), host, repository, job, type].join('  '));
      }
      after = page.cursor;
      if (page.events.length === PAGE) continue;
      if (!follow) break;
      await systemClock.sleep(LOOK_MS);
    }
    cli.talk(`The cursor behind the last one: ${after}`);
    return 0;
  });
};

interface RetentionOptions extends DatabaseOptions {
  eventDays?: number;
  recordMonths?: number;
}

export const retention: Command<RetentionOptions> = async (cli, _args, { eventDays, recordMonths, ...named }) => {
  const keep = { eventDays: eventDays ?? KEEP.eventDays, recordMonths: recordMonths ?? KEEP.recordMonths };
  const target = `${keep.eventDays} days, ${keep.recordMonths} months`;
  const done = await audited(cli, { ...named, role: 'reef_admin', operation: 'retention', target }, (database) =>
    applyRetention(database, keep),
  );
  cli.print(done, () =>
    [`${done.removed} records removed`, ...done.dropped.map((name) => `${name} dropped`)].join('\n'),
  );
  return 0;
};

export const budget: Command<DatabaseOptions & { tokens?: number; usd?: number }> = async (
  cli,
  [name = ''],
  options,
) => {
  const { tokens, usd, ...named } = options;
  const set = await audited(cli, { ...named, operation: 'budget', target: name }, (database) =>
    setBudget(database, name, { tokens, cost: usd }),
  );
  cli.print(
    set,
    () =>
      `The budget of ${set.kind} ${name} is ${tokens ?? 'any number of'} tokens, ${usd ?? 'any number of'} dollars a month.`,
  );
  return 0;
};
