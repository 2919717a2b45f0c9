import { join } from 'node:path';
import { BareRepositories } from '../../../fleet/hub/bare-repositories.ts';
import { listRepositories } from '../../../fleet/hub/fleet-view.ts';
import {
  addPerson,
  addToken,
  listPeople,
  listTokens,
  type Role,
  revokePerson,
  revokeTokens,
} from '../../../fleet/hub/people.ts';
import { addRepositoryRow } from '../../../fleet/hub/repositories.ts';
import { run } from '../../../process/run.ts';
import { heading, table } from '../../render/columns.ts';
import type { Cli, Command } from '../cli.ts';
import { audited, type DatabaseOptions, withDatabase } from './fleet-database.ts';

const rows = (cli: Cli, titles: string[], lines: string[][]): string =>
  table([heading(titles, cli.style), ...lines.map((line) => line.map((text) => ({ text })))], cli.style.width);

interface PersonOptions extends DatabaseOptions {
  role: Role;
  merge?: true;
  repo?: string[];
}

export const addPersonCommand: Command<PersonOptions> = async (cli, [name = ''], { role, merge, repo, ...named }) => {
  const mayMerge = role === 'admin' || merge === true;
  const person = await audited(cli, { ...named, operation: 'person.add', target: name }, (database) =>
    addPerson(database, { name, role, mayMerge, repositories: repo ?? null }),
  );
  cli.print(person, () => `${name} is ${role}. Let them in with: reef fleet token add ${name} --device NAME`);
  return 0;
};

export const people: Command<DatabaseOptions> = async (cli, _args, named) => {
  const found = await withDatabase(cli, named, listPeople);
  cli.print({ people: found }, () =>
    rows(
      cli,
      ['NAME', 'ROLE', 'MERGES', 'REPOSITORIES'],
      found.map((each) => [each.name, each.role, each.mayMerge ? 'yes' : 'no', each.repositories?.join(' ') ?? 'all']),
    ),
  );
  return 0;
};

export const revokePersonCommand: Command<DatabaseOptions> = async (cli, [name = ''], named) => {
  await audited(cli, { ...named, operation: 'person.revoke', target: name }, (database) =>
    revokePerson(database, name),
  );
  cli.print({ name }, () => `${name} is let in no more.`);
  return 0;
};

interface TokenOptions extends DatabaseOptions {
  device: string;
  days?: number;
}

export const addTokenCommand: Command<TokenOptions> = async (cli, [person = ''], { device, days, ...named }) => {
  const target = `${person} ${device}`;
  const made = await audited(cli, { ...named, operation: 'token.add', target }, (database) =>
    database.transaction((queries) => addToken(queries, { person, device, days })),
  );
  cli.print({ person, device, ...made }, () => made.token);
  cli.talk(`It is shown only once and good until ${made.expiresAt.toISOString()}.`);
  return 0;
};

export const tokens: Command<DatabaseOptions> = async (cli, _args, named) => {
  const found = await withDatabase(cli, named, listTokens);
  cli.print({ tokens: found }, () =>
    rows(
      cli,
      ['PERSON', 'DEVICE', 'GOOD UNTIL', ''],
      found.map((each) => [each.person, each.device, each.expiresAt.toISOString(), each.revokedAt ? 'revoked' : '']),
    ),
  );
  return 0;
};

export const revokeTokenCommand: Command<DatabaseOptions & { device?: string }> = async (
  cli,
  [person = ''],
  options,
) => {
  const { device, ...named } = options;
  const target = `${person} ${device ?? '(all)'}`;
  const revoked = await audited(cli, { ...named, operation: 'token.revoke', target }, (database) =>
    database.transaction((queries) => revokeTokens(queries, { person, device })),
  );
  cli.print({ revoked }, () => `${revoked} revoked.`);
  return 0;
};

interface RepositoryOptions extends DatabaseOptions {
  cap?: number;
  weight?: number;
  hub?: string;
}

/** Where the repositories of the hub lie unless somebody says so. */
export function hubFolder({ env }: Cli, named: string | undefined): string {
  return named ?? join(env.stateHome, 'reef', 'hub');
}

export const addRepository: Command<RepositoryOptions> = async (cli, [name = '', source = ''], options) => {
  const { cap, weight, hub, ...named } = options;
  const env = Object.fromEntries(
    Object.entries(cli.env.all).filter((each): each is [string, string] => each[1] !== undefined),
  );
  const bare = new BareRepositories({ folder: hubFolder(cli, hub), run, env });
  const added = await audited(cli, { ...named, operation: 'repo.add', target: name }, async (database) => {
    const { defaultBranch } = await bare.add(name, source);
    return addRepositoryRow(database, { name, url: source, defaultBranch, cap, weight });
  });
  cli.print(added, () => `${name} is in ${bare.path(name)}; runs begin on ${added.defaultBranch}.`);
  return 0;
};

export const repositories: Command<DatabaseOptions> = async (cli, _args, named) => {
  const found = await withDatabase(cli, named, listRepositories);
  cli.print({ repositories: found }, () =>
    rows(
      cli,
      ['NAME', 'BRANCH', 'RUNNING', 'WEIGHT', 'TRUST', 'FROM'],
      found.map(({ name, defaultBranch, running, cap, weight, isTrusted, url }) => [
        name,
        defaultBranch,
        `${running}/${cap}`,
        String(weight),
        isTrusted ? 'given' : 'none',
        url,
      ]),
    ),
  );
  return 0;
};
