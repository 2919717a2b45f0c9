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

type Change = (vault: Vault, name: string, cli: Cli) => Promise<void>;

function change(done: string, apply: Change): Command<object> {
  return async (cli, [name = '']) => {
    await apply(await openVault(cli), name, cli);
    if (cli.json) cli.out(JSON.stringify({ name }));
    else cli.talk(`${done} ${name}`);
    return 0;
  };
}

export const addSecret = change('Added', async (vault, name, cli) => vault.add(name, await readValue(cli, name)));
export const updateSecret = change('Updated', async (vault, name, cli) =>
  vault.update(name, await readValue(cli, name)),
);
export const deleteSecret = change('Deleted', (vault, name) => vault.delete(name));

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
