import type { Clock } from '../base/clock.ts';

export interface DeathLimits {
  windowMs: number;
  /** How long a server stays off after its third death within the window. */
  offMs: number;
  /** How long the next start waits after one death, after two in a row, and so on. */
  delaysMs: readonly number[];
}

interface Account {
  at: number[];
  /** Deaths in a row, each within the window of the one before. */
  streak: number;
  offUntil: number;
}

const TOO_MANY = 3;

/** Counts how often each server died lately. One that dies again waits longer; one that keeps dying is not started for a while. */
export class Deaths {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #limits: DeathLimits;
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, limits: DeathLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Returns how long to wait before the next start. */
  note(key: string): number {
    const now = this.#clock.monotonicMs();
    const { windowMs, offMs, delaysMs } = this.#limits;
    const { at, streak, offUntil } = this.#accounts.get(key) ?? { at: [], streak: 0, offUntil: 0 };
    const recent = [...at.filter((time) => now - time < windowMs), now];
    const account = {
      at: recent,
      streak: recent.length > 1 ? streak + 1 : 1,
      offUntil: recent.length >= TOO_MANY ? now + offMs : offUntil,
    };
    this.#accounts.set(key, account);
    return this.offFor(key) || (delaysMs[Math.min(account.streak, delaysMs.length) - 1] ?? 0);
  }

  /** For how much longer it must not be started; 0 when it may. */
  offFor(key: string): number {
    return Math.max(0, (this.#accounts.get(key)?.offUntil ?? 0) - this.#clock.monotonicMs());
  }

  forget(isMeant: (key: string) => boolean): void {
    for (const key of this.#accounts.keys()) if (isMeant(key)) this.#accounts.delete(key);
  }
}
