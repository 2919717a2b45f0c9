import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { ReefError } from '../protocol/errors.ts';
import { SYSTEM_PATH } from './environment.ts';
import { run } from './run.ts';

export async function makeFifo(path: string): Promise<void> {
  const env = { PATH: SYSTEM_PATH, LC_ALL: 'C' };
  const made = await run({ file: 'mkfifo', args: ['-m', '600', '--', path], cwd: '/', env, timeoutMs: 10_000 });
  if (made.code !== 0) throw new ReefError('spawn_failed', `Cannot make a FIFO: ${made.stderr.toString().trim()}`);
}

/**
 * Writes without ever waiting. A blocking write holds a thread of Node's pool for as long as nobody reads: a few agents that
 * read no input would freeze all file access of the daemon.
 */
export class FifoWriter {
  readonly #descriptor: number;
  #rest: Uint8Array = new Uint8Array();

  /** Opened for reading as well, though never read: otherwise opening fails, and writing kills, while there is no reader. */
  constructor(path: string) {
    this.#descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(this.#descriptor).isFIFO()) return;
    closeSync(this.#descriptor);
    throw new ReefError('internal', `Not a FIFO: ${path}`);
  }

  /**
   * `full`: not a byte was taken. `held`: the pipe took a part, which cannot be taken back; the rest is kept here and goes
   * out with `flush`, before anything else. Up to 4,096 bytes are never held, and up to the free space of the pipe
   * (64 KiB when the agent has read everything) they are written whole even if we are killed meanwhile.
   */
  write(bytes: Uint8Array): 'written' | 'full' | 'held' {
    if (!this.flush()) return 'full';
    const taken = this.#offer(bytes);
    if (taken === 0 && bytes.length > 0) return 'full';
    this.#rest = bytes.slice(taken);
    return this.flush() ? 'written' : 'held';
  }

  /** True when nothing is held. */
  flush(): boolean {
    while (this.#rest.length > 0) {
      const taken = this.#offer(this.#rest);
      if (taken === 0) return false;
      this.#rest = this.#rest.subarray(taken);
    }
    return true;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #offer(bytes: Uint8Array): number {
    try {
      return writeSync(this.#descriptor, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      throw error;
    }
  }
}
