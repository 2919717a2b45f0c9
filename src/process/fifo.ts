import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { ReefError } from '../protocol/errors.ts';
import { SYSTEM_PATH } from './environment.ts';
import { run } from './run.ts';

export async function makeFifo(path: string): Promise<void> {
  const env = { PATH: SYSTEM_PATH, LC_ALL: 'C' };
  const made = await run({ file: 'mkfifo', args: ['-m', '600', '--', path], cwd: '/', env, timeoutMs: 10_000 });
  if (made.code !== 0) throw new ReefError('spawn_failed', `Cannot make a FIFO: ${made.stderr.toString().trim()}`);
}

/** Writes without waiting: blocked writes would hold all threads of Node's pool, and with them all file access of the daemon. */
export class FifoWriter {
  readonly #descriptor: number;
  #rest: Uint8Array = new Uint8Array();

  /** Opened for reading too: otherwise opening fails, and writing kills us, while there is no reader. */
  constructor(path: string) {
    this.#descriptor = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (fstatSync(this.#descriptor).isFIFO()) return;
    closeSync(this.#descriptor);
    throw new ReefError('internal', `Not a FIFO: ${path}`);
  }

  /**
   * `full`: nothing was taken. `held`: the pipe took a part; `flush` sends the rest, before anything else. Up to 4,096 bytes are
   * never held. Up to the free space of the pipe (64 KiB when all was read) a write is whole even if we are killed.
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
