import { ReefError } from '../../../protocol/errors.ts';
import type { Vault } from '../../../runtime/vault/vault.ts';
import { openTerminalRuntime } from '../chat/conversation.ts';
import type { Cli, Command } from '../cli.ts';
import { linePerson } from '../prompt/line-person.ts';
import { askNobody } from '../prompt/person.ts';

export const listSecrets: Command<object> = async (cli) => {
  const secrets = await (await openVault(cli)).list();
  cli.print({ secrets }, () => secrets.join('\n'));
  return 0;
};

export const getSecret: Command<object> = async (cli, [name = '']) => {
  const value = await (await openVault(cli)).get(name);
  cli.print({ name, value }, () => value);
  return 0;
};

export const addSecret: Command<object> = async (cli, [name = '']) => {
  const vault = await openVault(cli);
  await vault.add(name, await readValue(cli, name));
  return done(cli, name, 'Added');
};

export const updateSecret: Command<object> = async (cli, [name = '']) => {
  const vault = await openVault(cli);
  await vault.update(name, await readValue(cli, name));
  return done(cli, name, 'Updated');
};

export const deleteSecret: Command<object> = async (cli, [name = '']) => {
  await (await openVault(cli)).delete(name);
  return done(cli, name, 'Deleted');
};

/** The password comes from the vault's password file, or from the person at the terminal. */
async function openVault(cli: Cli): Promise<Vault> {
  const person = cli.isInteractive ? linePerson(cli) : undefined;
  const { app } = await openTerminalRuntime({ cli, ask: askNobody, askPassword: person?.secret, isOneShot: true });
  return app.vault;
}

/** Never an argument, because arguments stay in the history of the shell. */
async function readValue(cli: Cli, name: string): Promise<string> {
  const value = cli.isInteractive ? await linePerson(cli).secret(`Value of ${name}: `) : await cli.stdin();
  if (value === '') throw new ReefError('bad_request', `No value was given for ${name}`);
  return value;
}

function done(cli: Cli, name: string, what: string): number {
  if (cli.json) cli.out(JSON.stringify({ name }));
  else cli.talk(`${what} ${name}`);
  return 0;
}
