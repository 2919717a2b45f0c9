import { systemClock } from '../../base/clock.ts';
import { readingOperations } from '../../protocol/daemon.ts';
import { type Client, type Connection, connect } from '../client/client.ts';
import { errorBody } from '../client/request.ts';
import type { Ssh } from './ssh.ts';

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5_000;
/** What a broken network looks like from here, also in the middle of an answer. */
const BROKEN: ReadonlySet<string> = new Set(['box_unreachable', 'daemon_unavailable']);

interface Remote extends Pick<Connection, 'surface'> {
  ssh: Pick<Ssh, 'socket' | 'credential' | 'open'>;
  talk(text: string): void;
}

/**
 * The client of a daemon on another machine. Once it has answered, reading goes on whatever happens to the network:
 * who follows by a cursor misses nothing. What acts is sent once, and only after the way there was tried.
 */
export function connectRemote({ ssh, surface, talk }: Remote): Client {
  const inner = connect({
    socket: ssh.socket,
    surface,
    credential: () => ssh.credential(),
    startDaemon: () => ssh.open(),
  });
  let hasAnswered = false;
  const isLost = (error: unknown) => hasAnswered && isBroken(error);

  const answered = async <T>(attempt: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const answer = await patiently({ attempt, isLost, talk, signal });
    hasAnswered = true;
    return answer;
  };

  return {
    ...inner,
    call: async (operation, input, options) => {
      if (readingOperations.has(operation)) {
        return answered(() => inner.call(operation, input, options), options?.signal);
      }
      // ssh accepts a connection for a daemon that is gone, and the call would be lost on the way.
      if ((await inner.daemon(options)) === undefined) await ssh.open();
      return inner.call(operation, input, options);
    },
  };
}

/** Brings the door of the box to this machine until the command is ended: a connection that is lost is made again. */
export async function holdDoor({ ssh, talk }: HeldDoor, door: URL, onHeld: () => void): Promise<never> {
  for (let told = onHeld; ; told = () => {}) {
    await ssh.holdDoor(door, told);
    await patiently({ attempt: () => ssh.open(), isLost: isBroken, talk });
  }
}

interface HeldDoor {
  ssh: Pick<Ssh, 'holdDoor' | 'open'>;
  talk(text: string): void;
}

interface Patience<T> {
  attempt(): Promise<T>;
  isLost(error: unknown): boolean;
  talk(text: string): void;
  signal?: AbortSignal | undefined;
}

async function patiently<T>({ attempt, isLost, talk, signal }: Patience<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await attempt();
      if (tries > 0) talk('Connected again.');
      return answer;
    } catch (error) {
      if (!isLost(error)) throw error;
    }
    if (tries === 0) talk('The connection is lost; what runs there goes on. Trying again …');
    await systemClock.sleep(Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS), signal);
  }
}

function isBroken(error: unknown): boolean {
  return BROKEN.has(errorBody(error).error.code);
}
