import { userInfo } from 'node:os';
import { writeAtomic } from '../../../base/atomic-file.ts';
import { databaseUrl } from '../../../fleet/database/address.ts';
import { openDatabase } from '../../../fleet/database/open-database.ts';
import { prepareDatabase } from '../../../fleet/database/prepare-database.ts';
import { newPassword } from '../../../fleet/database/roles.ts';
import { addFirstAdmin } from '../../../fleet/hub/people.ts';
import type { Cli, Command } from '../cli.ts';

interface DatabaseOptions {
  databaseUrl?: string;
  databaseUrlFile?: string;
}

function addressOf({ env }: Cli, { databaseUrl: argument, databaseUrlFile: file }: DatabaseOptions): string {
  return databaseUrl({ argument, file }, env);
}

interface InitOptions extends DatabaseOptions {
  admin?: string;
  appUrlFile?: string;
}

/** Prepares the database, or brings it to the schema of this version. The first time it prints the token of an admin. */
export const init: Command<InitOptions> = async (cli, _args, { admin, appUrlFile, ...named }) => {
  const url = addressOf(cli, named);
  const migrations = await prepareDatabase(url, cli.env);
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
