import type { Clock } from '../../base/clock.ts';

export interface Key {
  /** Names the key without a character of it. */
  readonly id: string;
  /** As configured: maybe a placeholder of the vault. Undefined for servers that want none. */
  readonly secret: string | undefined;
}

interface Place {
  key: Key;
  coolUntil: number;
  /** What the next failure without a word of the provider costs. */
  backoffMs: number;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;

/** Keys of one client, taken in turn; one that failed rests. */
export class KeyPool {
  readonly #places: Place[];
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  #turn = 0;

  constructor(client: string, secrets: readonly string[], clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    const all: (string | undefined)[] = secrets.length === 0 ? [undefined] : [...secrets];
    this.#clock = clock;
    this.#places = all.map((secret, index) => ({
      key: { id: `${client}#${index + 1}`, secret },
      coolUntil: 0,
      backoffMs: FIRST_BACKOFF_MS,
    }));
  }

  /** The next key that rests neither by itself nor by the caller's choice. */
  take(except: ReadonlySet<string>): Key | undefined {
    const now = this.#clock.monotonicMs();
    for (let step = 0; step < this.#places.length; step++) {
      const index = (this.#turn + step) % this.#places.length;
      const place = this.#places[index];
      if (!place || place.coolUntil > now || except.has(place.key.id)) continue;
      this.#turn = (index + 1) % this.#places.length;
      return place.key;
    }
    return undefined;
  }

  cool(key: Key, retryAfterMs: number | undefined): void {
    const place = this.#place(key);
    if (!place) return;
    place.coolUntil = this.#clock.monotonicMs() + (retryAfterMs ?? place.backoffMs);
    place.backoffMs = Math.min(LONGEST_BACKOFF_MS, place.backoffMs * 2);
  }

  succeed(key: Key): void {
    const place = this.#place(key);
    if (place) place.backoffMs = FIRST_BACKOFF_MS;
  }

  /** When the first key has rested. */
  earliest(): Date {
    const wait = Math.min(...this.#places.map(({ coolUntil }) => coolUntil)) - this.#clock.monotonicMs();
    return new Date(this.#clock.now().getTime() + Math.max(0, Math.ceil(wait)));
  }

  #place(key: Key): Place | undefined {
    return this.#places.find((place) => place.key.id === key.id);
  }
}
