import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Database } from '../database/database.ts';
import { CHANNEL, parseNotice } from '../store/notify.ts';
import { hashOf, type Person } from './people.ts';

/** Whom a token let in. */
export interface FleetAccess {
  id: string;
  expiresAt?: string;
  /** Aborted when the token is taken back. */
  revoked: AbortSignal;
  /** The name of a person, or `host:<id>`. */
  by: string;
  person?: Person;
  /** A host, which may use git and nothing else. */
  host?: string;
}

interface Known extends Omit<FleetAccess, 'revoked'> {
  hash: Buffer;
  ending: AbortController;
}

const LOOK_MS = 500;
/** Without news of the database nobody can be told to be out, so that nobody is let in. */
const STALE_MS = 10_000;
const PAGE_HOURS = 12;

const VALID = `
  SELECT t.hash, t.expires_at AS "expiresAt", NULL AS host, p.id, p.name, p.role, p.may_merge AS "mayMerge", p.repositories
  FROM reef.token t JOIN reef.person p ON p.id = t.person
  WHERE t.revoked_at IS NULL AND t.expires_at > now() AND p.disabled_at IS NULL
  UNION ALL SELECT h.token, NULL, h.id, NULL, NULL, NULL, NULL, NULL FROM reef.host h
  WHERE h.token IS NOT NULL AND h.state IN ('up', 'unfit', 'draining')`;

interface Row extends Person {
  hash: Buffer;
  expiresAt: Date | null;
  host: string | null;
}

/** Who may come in at the hub: people and hosts, as the database has them. What is revoked there is out within a second. */
export class FleetTokens {
  readonly #database: Database;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #known = new Map<string, Known>();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(database: Database, log: Pick<Logger, 'warn'>, clock = systemClock) {
    this.#database = database;
    this.#log = log;
    this.#clock = clock;
  }

  /** Nobody comes in before. */
  async open(): Promise<void> {
    await this.refresh();
    await this.#database.listen(CHANNEL, (heard) => {
      const notice = heard && parseNotice(heard.payload);
      if (!heard || notice?.kind === 'token' || notice?.kind === 'host') void this.refresh().catch(() => undefined);
    });
    void this.#lookOn();
  }

  start(): void {
    // It was opened before the door.
  }

  close(): void {
    this.#closing.abort();
  }

  check(given: string): FleetAccess | undefined {
    if (this.#clock.monotonicMs() - this.#readAt > STALE_MS) {
      throw new ReefError('storage_unavailable', 'The hub cannot ask the database who may come in');
    }
    const known = this.#known.get(hashOf(given).toString('hex'));
    if (!known) return undefined;
    const { hash, ending, ...access } = known;
    return { ...access, revoked: ending.signal };
  }

  /** As the database had them last. */
  personNamed(name: string): Person | undefined {
    return [...this.#known.values()].find(({ person }) => person?.name === name)?.person;
  }

  /** The token of a person, given once in the fragment of an address, lets a page in for a day's work. */
  async login(code: string): Promise<{ token: string; tokenId: string; expiresAt: string }> {
    const person = this.check(code)?.person;
    if (!person) throw new ReefError('login_code_used', 'This is not a token of the fleet, or it has expired');
    const token = randomBytes(32).toString('hex');
    const hash = hashOf(token);
    const [row] = await this.#database.query<{ expires_at: Date }>(
      `INSERT INTO reef.token (hash, person, device, expires_at)
       SELECT $1, $2, 'page', least(now() + $3 * interval '1 hour', expires_at) FROM reef.token
       WHERE hash = $4 AND revoked_at IS NULL RETURNING expires_at`,
      [hash, person.id, PAGE_HOURS, hashOf(code)],
    );
    if (!row) throw new ReefError('login_code_used', 'This token was revoked');
    await this.refresh();
    return { token, tokenId: idOf(hash), expiresAt: row.expires_at.toISOString() };
  }

  /** Shows a page that this server knows its token, before the page sends it. */
  proof(tokenId: string, nonce: string): string {
    const known = [...this.#known.values()].find(({ id }) => id === tokenId);
    if (!known) throw new ReefError('unauthorized', 'There is no such page token, or it has expired');
    return createHmac('sha256', known.hash).update(nonce).digest('hex');
  }

  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(): Promise<void> {
    const askedAt = this.#clock.monotonicMs();
    const rows = await this.#database.query<Row>(VALID);
    const before = this.#known;
    this.#known = new Map(rows.map((row) => [row.hash.toString('hex'), knownOf(row, before)]));
    this.#readAt = askedAt;
    for (const [key, { ending }] of before) {
      if (!this.#known.has(key)) ending.abort(new ReefError('unauthorized', 'This token was revoked'));
    }
  }

  async #lookOn(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      await this.refresh().catch((error: unknown) => this.#log.warn('the tokens cannot be read', { error }));
    }
  }
}

function idOf(hash: Buffer): string {
  return hash.toString('hex').slice(0, 16);
}

function knownOf({ hash, expiresAt, host, ...person }: Row, before: Map<string, Known>): Known {
  const ending = before.get(hash.toString('hex'))?.ending ?? new AbortController();
  const common = { hash, id: idOf(hash), ending, ...(expiresAt && { expiresAt: expiresAt.toISOString() }) };
  return host === null ? { ...common, by: person.name, person } : { ...common, by: `host:${host}`, host };
}
