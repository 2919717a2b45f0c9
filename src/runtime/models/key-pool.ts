import type { Clock } from '../../base/clock.ts';

export interface Key {
  /** Names the key without showing any of it. */
  readonly id: string;
  /** As configured, possibly a placeholder of the vault. Undefined for servers that need none. */
  readonly secret: string | undefined;
  coolUntil: number;
  /** The rest after the next failure, if the provider does not name one. */
  backoffMs: number;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;

/** The keys of one client, used in turn. A key that failed rests. */
export class KeyPool {
  readonly #keys: Key[];
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>;
  #turn = 0;

  constructor(client: string, secrets: readonly string[], clock: Pick<Clock, 'now' | 'monotonicMs'>) {
    const all: (string | undefined)[] = secrets.length === 0 ? [undefined] : [...secrets];
    this.#clock = clock;
    this.#keys = all.map((secret, index) => ({
      id: `${client}#${index + 1}`,
      secret,
      coolUntil: 0,
      backoffMs: FIRST_BACKOFF_MS,
    }));
  }

  /** The next key that does not rest and is not in `except`. */
  take(except: ReadonlySet<string>): Key | undefined {
    const now = this.#clock.monotonicMs();
    for (let step = 0; step < this.#keys.length; step++) {
      const index = (this.#turn + step) % this.#keys.length;
      const key = this.#keys[index];
      if (!key || key.coolUntil > now || except.has(key.id)) continue;
      this.#turn = (index + 1) % this.#keys.length;
      return key;
    }
    return undefined;
  }

  cool(key: Key, retryAfterMs: number | undefined): void {
    key.coolUntil = this.#clock.monotonicMs() + (retryAfterMs ?? key.backoffMs);
    key.backoffMs = Math.min(LONGEST_BACKOFF_MS, key.backoffMs * 2);
  }

  succeed(key: Key): void {
    key.backoffMs = FIRST_BACKOFF_MS;
  }

  /** When the first key can be used again. */
  earliest(): Date {
    const wait = Math.min(...this.#keys.map(({ coolUntil }) => coolUntil)) - this.#clock.monotonicMs();
    return new Date(this.#clock.now().getTime() + Math.max(0, Math.ceil(wait)));
  }
}
