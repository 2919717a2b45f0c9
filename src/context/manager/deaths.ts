import type { Timings } from './timings.ts';

const TOO_MANY = 3;

interface Record {
  at: number[];
  /** Deaths of which each followed the one before within the window. */
  streak: number;
  unavailableUntil: number;
}

/** How often the server of a worktree died lately, and what follows from it (C-077). */
export class Deaths {
  readonly #timings: Timings;
  readonly #records = new Map<string, Record>();

  constructor(timings: Timings) {
    this.#timings = timings;
  }

  /** How long to wait before the next start. */
  note(path: string, now: number): number {
    const { deathWindow, restarts } = this.#timings;
    const { at, streak } = this.#records.get(path) ?? { at: [], streak: 0 };
    const recent = [...at.filter((time) => now - time < deathWindow), now];
    const record = { at: recent, streak: recent.length > 1 ? streak + 1 : 1, unavailableUntil: 0 };
    if (recent.length >= TOO_MANY) record.unavailableUntil = now + deathWindow;
    this.#records.set(path, record);
    const delay = restarts[Math.min(record.streak, restarts.length) - 1] ?? 0;
    return record.unavailableUntil > 0 ? deathWindow : delay;
  }

  /** For how much longer it is not worth trying; 0 when it is. */
  unavailableFor(path: string, now: number): number {
    return Math.max(0, (this.#records.get(path)?.unavailableUntil ?? 0) - now);
  }

  forget(path: string): void {
    this.#records.delete(path);
  }
}
