import type { Clock } from '../../../base/clock.ts';

const WINDOW_MS = 60_000;
const MOST = 3;

interface Account {
  name: string;
  recent: number[];
  isOff: boolean;
}

/** Who died how often of late: three deaths within a minute, and it stays off. */
export class Deaths {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #records = new Map<string, Account>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  record({ key, name }: { key: string; name: string }): void {
    const now = this.#clock.monotonicMs();
    const known = this.#records.get(key) ?? { name, recent: [], isOff: false };
    const recent = [...known.recent.filter((at) => now - at < WINDOW_MS), now];
    this.#records.set(key, { name, recent, isOff: known.isOff || recent.length >= MOST });
  }

  isOff(key: string): boolean {
    return this.#records.get(key)?.isOff === true;
  }

  /** Of one server, or of all. */
  forget(name?: string): void {
    for (const [key, record] of this.#records) {
      if (name === undefined || record.name === name) this.#records.delete(key);
    }
  }
}
