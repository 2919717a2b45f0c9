import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { KeyedSerial } from '../../base/serial.ts';
import { identify } from '../../process/identity.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { holdLock } from '../../store/home-lock.ts';

const LONGEST_WAIT_MS = 10_000;
const LOCK = 'lock';
const HOLDER = 'holder.json';

/**
 * One writer of a session at a time. Writers of one process queue. Between processes the kernel holds the lock, so it ends
 * with its holder. The pid is written beside it only to name the holder.
 */
export class SessionLock {
  readonly #clock: Clock;
  readonly #inProcess = new KeyedSerial();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Rejects with `session_locked` after 10 s behind the same holder, and with `session_deleted` if the folder is gone. It
   * waits as long as holders change.
   */
  hold<T>(dir: string, work: () => Promise<T>): Promise<T> {
    return this.#inProcess.run(dir, async () => {
      const lock = await this.#take(dir);
      try {
        return await work();
      } finally {
        lock.release();
      }
    });
  }

  async #take(dir: string): Promise<{ release(): void }> {
    // Imported late: most requests store nothing and need no database.
    const { holdLock: hold } = await import('../../store/home-lock.ts');
    let holder = holderText(dir);
    let deadline = this.#clock.monotonicMs() + LONGEST_WAIT_MS;
    for (let attempt = 0; ; attempt++) {
      const lock = tryLock(dir, hold);
      if (lock) return lock;
      const now = holderText(dir);
      if (now !== holder) deadline = this.#clock.monotonicMs() + LONGEST_WAIT_MS;
      holder = now;
      if (this.#clock.monotonicMs() >= deadline) {
        throw new ReefError('session_locked', `${dir} is written by ${describeHolder(holder)}`);
      }
      await this.#clock.sleep(Math.min(50, 2 + attempt * Math.random() * 5));
    }
  }
}

function tryLock(dir: string, hold: typeof holdLock): { release(): void } | undefined {
  if (!existsSync(dir)) throw new ReefError('session_deleted', `${dir} is gone`);
  try {
    const lock = hold(join(dir, LOCK));
    const holder = { ...identify(process.pid), hold: randomUUID() };
    writeFileSync(join(dir, HOLDER), JSON.stringify(holder), { mode: 0o600 });
    return lock;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'home_in_use') return undefined;
    if (!existsSync(dir)) throw new ReefError('session_deleted', `${dir} is gone`, { cause: error });
    throw error;
  }
}

function holderText(dir: string): string {
  try {
    return readFileSync(join(dir, HOLDER), 'utf8');
  } catch {
    return ''; // the first holder has not written it yet
  }
}

function describeHolder(text: string): string {
  try {
    const { pid, startTime } = JSON.parse(text) as { pid: number; startTime: string };
    return `process ${pid} (start time ${startTime})`;
  } catch {
    return 'another process';
  }
}
