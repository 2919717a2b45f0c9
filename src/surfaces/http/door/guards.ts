import type { IncomingHttpHeaders } from 'node:http';
import { ReefError } from '../../../protocol/errors.ts';

/** An address under which people come: `Host` and `Origin` have to be exactly one such pair. */
export interface Site {
  host: string;
  origin: string;
}

interface Place {
  host: string;
  port: number;
}

/** What a person types into a browser of this machine. */
export function addressOf({ host, port }: Place): string {
  const name = isWildcard(host) ? '127.0.0.1' : host;
  return new URL(`http://${name.includes(':') ? `[${name}]` : name}:${port}`).origin;
}

/** The addresses of a door that listens at this host and port, and that of the user's own tunnel. A wildcard is no address. */
export function sitesOf({ host, port, origin }: Place & { origin?: string | undefined }): Site[] {
  const names = ['127.0.0.1', 'localhost', host].map((name) => addressOf({ host: name, port }));
  return [...names, ...(origin === undefined ? [] : [origin])].map((address) => {
    const url = new URL(address);
    return { host: url.host, origin: url.origin };
  });
}

function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/**
 * The first two guards. A page of another site has another `Origin`; one whose name was made to mean this machine has
 * another `Host`. Both are compared with what is ours, never with each other.
 */
export function refuseStranger({ host = '', origin }: IncomingHttpHeaders, sites: readonly Site[]): void {
  const site = sites.find((each) => each.host === host);
  if (!site) throw new ReefError('bad_host', `Nothing is served here as ${JSON.stringify(host.slice(0, 100))}`);
  if (origin !== undefined && origin !== site.origin) {
    throw new ReefError('bad_origin', `A page of ${JSON.stringify(origin.slice(0, 100))} may not call this door`);
  }
}

const BEARER = /^Bearer ([!-~]{1,256})$/i;

/** The token, from the one place where it may be. */
export function bearer({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return BEARER.exec(authorization)?.[1];
}

/** On everything that leaves the door, refusals too. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'",
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

interface Bucket {
  left: number;
  at: number;
}

/** So many calls at once, and so many a second for good, for each token. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();
  readonly #limit: { burst: number; perSecond: number };
  readonly #now: () => number;

  constructor(limit: { burst: number; perSecond: number }, now: () => number) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Throws when it is one call too many. */
  take(who: string): void {
    const { burst, perSecond } = this.#limit;
    const now = this.#now();
    const { left, at } = this.#buckets.get(who) ?? { left: burst, at: now };
    const filled = Math.min(burst, left + ((now - at) / 1_000) * perSecond);
    this.#buckets.delete(who);
    this.#buckets.set(who, { left: Math.max(0, filled - 1), at: now });
    this.#forget();
    if (filled < 1) throw new ReefError('too_many_requests', `More than ${paceOf(perSecond)}`);
  }

  /** Of a call that does not count after all. */
  giveBack(who: string): void {
    const bucket = this.#buckets.get(who);
    if (bucket) bucket.left = Math.min(this.#limit.burst, bucket.left + 1);
  }

  /** The one that called longest ago. */
  #forget(): void {
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > MOST_BUCKETS && oldest !== undefined) this.#buckets.delete(oldest);
  }
}

const MOST_BUCKETS = 256;

function paceOf(perSecond: number): string {
  return perSecond < 1 ? `${Math.round(perSecond * 60)} calls a minute` : `${perSecond} calls a second`;
}
