import { addSecret, deleteSecret, getSecret, listSecrets, openForSecrets, updateSecret } from '../../repl/secrets.ts';
import type { Command } from '../cli.ts';

type Act = typeof addSecret;

export const list: Command<object> = async (cli) => listSecrets(cli, await openForSecrets(cli));

const named =
  (act: Act): Command<object> =>
  async (cli, [name = '']) =>
    act(cli, await openForSecrets(cli), name);

export const add = named(addSecret);
export const get = named(getSecret);
export const update = named(updateSecret);
export const remove = named(deleteSecret);
