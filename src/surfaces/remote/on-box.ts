import type { Environment } from '../../base/env.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Client, Connection } from '../client/client.ts';
import { parseBox } from './box.ts';
import { connectRemote, holdDoor } from './remote-client.ts';
import { Ssh } from './ssh.ts';

export interface OnBox {
  folder: string;
  client(surface: Connection['surface']): Client;
  /** Brings the door that is at this address of the box here until the command is ended; `onHeld` is called when it is here first. */
  holdDoor(door: URL, onHeld: () => void): Promise<never>;
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
    holdDoor: (door, onHeld) => holdDoor({ ssh, talk }, door, onHeld),
    runThere: (words, isTerminal) => ssh.runThere(words, isTerminal),
  };
}
