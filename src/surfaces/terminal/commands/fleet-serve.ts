import { once } from 'node:events';
import { systemClock } from '../../../base/clock.ts';
import { createLogger } from '../../../base/log.ts';
import { parseDoorAsk } from '../../http/door/door-file.ts';
import { openHub } from '../../http/hub/open-hub.ts';
import type { Command } from '../cli.ts';
import { type DatabaseOptions, withDatabase } from './fleet-database.ts';
import { hubFolder } from './fleet-people.ts';

interface ServeOptions extends DatabaseOptions {
  port?: number;
  host?: string;
  origin?: string;
  hub?: string;
  iKnowThisIsARemoteShell?: true;
}

/** Serves the hub of a fleet until it is told to end: people, inbox and repositories. A unit of systemd starts it. */
export const serveFleet: Command<ServeOptions> = async (cli, _args, { hub, iKnowThisIsARemoteShell, ...options }) => {
  const { port = 0, host, origin, ...named } = options;
  parseDoorAsk({ do: 'open', host, origin, isRemoteShell: iKnowThisIsARemoteShell === true });
  return withDatabase(cli, named, async (database) => {
    const env = Object.fromEntries(
      Object.entries(cli.env.all).filter(
        (each): each is [string, string] => each[1] !== undefined && !SECRET.test(each[0]),
      ),
    );
    const log = createLogger({ write: (line) => cli.talk(line.trimEnd()), clock: systemClock, redact: (text) => text });
    const place = { host: host ?? '127.0.0.1', port, origin, folder: hubFolder(cli, hub) };
    const door = await openHub({ database, log, env, ...place });
    cli.print({ address: door.address }, () => door.address);
    cli.talk('People come in with a token of `reef fleet token add`, at this address with #code=TOKEN behind it.');
    await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
    await door.close();
    return 0;
  });
};

/** git needs none of it. */
const SECRET = /^(REEF_DATABASE_URL|PG.*)$/;
