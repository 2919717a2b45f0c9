import type { Environment } from '../../base/env.ts';
import { everyHome } from '../../base/home.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type Client, clientOfHome } from './client.ts';

/** A repository of this user whose daemon runs. */
export interface Running {
  name: string;
  home: string;
  client: Client;
}

/** Every daemon of this user that runs. None is started, and one that does not answer is left out. */
export async function everyClient(env: Environment): Promise<Running[]> {
  if (env.isInJob) throw new ReefError('not_yours', 'A job sees its own repository only');
  const asked = everyHome(env).map(async ({ name, home }) => {
    const client = clientOfHome(home);
    const info = await client.daemon().catch(() => undefined);
    return info === undefined ? [] : [{ name, home: home.dir, client }];
  });
  return (await Promise.all(asked)).flat();
}
