import { readFileSync } from 'node:fs';
import { version } from '../../../base/version.ts';
import type { HostInfo } from '../../../protocol/daemon.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';

/** Starts the daemon and says how a person reaches it. Whoever may log in here may read the same files. */
export const host: Command<object> = async (cli) => {
  if (cli.env.isInJob) throw new ReefError('not_yours', 'An agent cannot reach the daemon as a person');
  await cli.client().call('inbox', {});
  const { socket, person } = cli.home();
  const info: HostInfo = { version, socket, credential: readFileSync(person, 'utf8').trim() };
  cli.out(JSON.stringify(info));
  return 0;
};
