import { resolve } from 'node:path';
import { findHome, findRepository } from '../../base/home.ts';
import type { Cli } from '../cli/cli.ts';
import type { Client } from '../client/client.ts';
import { openClient } from '../client/open.ts';

export interface JobsPlace {
  client: Client;
  homeDir: string;
  /** No repository's: commands elsewhere find it by `REEF_HOME` only. */
  isUsers: boolean;
}

/** Where the jobs of a person's agents live: with the repository around, outside of one in the user's state folder. */
export function jobsPlace({ env, cwd }: Pick<Cli, 'env' | 'cwd'>): JobsPlace {
  const isUsers = env.reefHome === undefined && env.reefSocket === undefined && findRepository(cwd) === undefined;
  const here = isUsers ? { ...env, reefHome: resolve(env.stateHome, 'reef') } : env;
  const client = openClient({ env: here, cwd, surface: 'cli' });
  // Inside a job the home is the one its door lies in: <home>/jobs/<id>/door/sock.
  const homeDir = env.reefSocket === undefined ? findHome(here, cwd).dir : resolve(env.reefSocket, '../../../..');
  return { client, homeDir, isUsers };
}
