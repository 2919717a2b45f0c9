import { ReefError } from '../../protocol/errors.ts';
import type { Vault } from '../../runtime/vault/vault.ts';
import type { Cli } from '../cli/cli.ts';
import { linePerson } from './line-person.ts';
import { openPlace } from './open.ts';
import { askNobody } from './person.ts';

/** The vault of this user; its password comes from its file, or from whoever sits here. */
export async function openForSecrets(cli: Cli): Promise<Vault> {
  const person = cli.isInteractive ? linePerson(cli) : undefined;
  const { app } = await openPlace({ cli, ask: askNobody, askPassword: person?.secret, isOneShot: true });
  return app.vault;
}

export async function listSecrets(cli: Cli, vault: Vault): Promise<number> {
  const secrets = await vault.list();
  cli.print({ secrets }, () => secrets.join('\n'));
  return 0;
}

export async function addSecret(cli: Cli, vault: Vault, name: string): Promise<number> {
  await vault.add(name, await readValue(cli, name));
  return done(cli, name, 'Added');
}

export async function updateSecret(cli: Cli, vault: Vault, name: string): Promise<number> {
  await vault.update(name, await readValue(cli, name));
  return done(cli, name, 'Updated');
}

export async function deleteSecret(cli: Cli, vault: Vault, name: string): Promise<number> {
  await vault.delete(name);
  return done(cli, name, 'Deleted');
}

export async function getSecret(cli: Cli, vault: Vault, name: string): Promise<number> {
  const value = await vault.get(name);
  cli.print({ name, value }, () => value);
  return 0;
}

/** Never an argument: those stay in the history of the shell. */
async function readValue(cli: Cli, name: string): Promise<string> {
  const value = cli.isInteractive ? await linePerson(cli).secret(`Value of ${name}: `) : await cli.stdin();
  if (value === '') throw new ReefError('bad_request', `${name}: no value was given`);
  return value;
}

function done(cli: Cli, name: string, what: string): number {
  if (cli.json) cli.out(JSON.stringify({ name }));
  else cli.talk(`${what} ${name}`);
  return 0;
}
