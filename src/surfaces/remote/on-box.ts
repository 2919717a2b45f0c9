import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Client, Connection } from '../client/client.ts';
import { parseBox } from './box.ts';
import { connectRemote } from './remote-client.ts';
import { Ssh } from './ssh.ts';

export interface OnBox {
  folder: string;
  client(surface: Connection['surface']): Client;
  runThere(words: readonly string[], isTerminal: boolean): Promise<number>;
}

export function onBox(text: string, { env, talk }: { env: Environment; talk: (text: string) => void }): OnBox {
  // The keys of a person are for the person.
  if (env.isInJob) throw new ReefError('not_yours', 'An agent cannot use --on');
  const box = parseBox(text);
  const ssh = new Ssh(box, { env, talk });
  const clients: Partial<Record<Connection['surface'], Client>> = {};
  return {
    folder: box.folder,
    client: (surface) => {
      clients[surface] ??= connectRemote({ ssh, surface, talk });
      return clients[surface];
    },
    runThere: (words, isTerminal) => ssh.runThere(words, isTerminal),
  };
}
