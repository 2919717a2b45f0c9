import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { AgentEvent } from '../../protocol/events.ts';
import type { Database, Queries } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import type { HomeSource, HostDeps, HostIdentity } from './home-source.ts';
import { shipJobs } from './job-rows.ts';
import { notify } from './notify.ts';
import { QuestionSync } from './question-sync.ts';
import { Thinning } from './thinning.ts';

interface Deps extends HostDeps {
  database: Database;
  log: Logger;
}

interface Mark {
  n: number;
  /** By repository, the last `seq` of its home that was looked at. */
  homes: Record<string, number>;
}

const MOST_ROWS = 500;
const MOST_CHARACTERS = 4_000_000;
const APART_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const LOOK_MS = 1_000;

/**
 * Brings what happened on this host into the fleet, from its homes' own databases. The mark is part of the transaction: after
 * a kill on either side the next one goes on exactly behind the last that was committed.
 */
export class Shipper {
  readonly #deps: Deps;
  readonly #thinning = new Thinning();
  readonly #questions = new QuestionSync();
  #known: Mark | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Ships until aborted. What fails is tried again, for as long as it takes: the homes keep everything. */
  async run(signal: AbortSignal): Promise<void> {
    for (let wait = APART_MS; !signal.aborted; ) {
      const isShipped = await this.ship().then(
        () => true,
        (error: unknown) => this.#isOver(error),
      );
      wait = isShipped ? APART_MS : Math.min(wait * 2, LONGEST_WAIT_MS);
      await systemClock.sleep(wait, signal).catch(() => undefined);
      if (!signal.aborted && isShipped && !this.#hasNews()) await this.#news(signal);
    }
  }

  /** One batch of all homes; how many rows it was. */
  async ship(): Promise<number> {
    const identity = this.#deps.identity();
    if (!identity) return 0;
    const hasNews = this.#hasNews();
    const questions = await this.#questions.changed(this.#deps.homes(), identity);
    if (!hasNews && !questions) return 0;
    this.#known = undefined;
    const thinned = this.#thinning.begin();
    const { mark, rows } = await this.#deps.database.transaction(async (queries) => {
      await queries.query('SELECT reef.fence($1, $2)', [identity.host, identity.epoch]);
      const before = await lockedMark(queries, identity.host);
      const batch = await this.#batch(queries, { identity, before, keeps: thinned.keeps });
      await questions?.write(queries);
      if (batch.rows > 0 || questions) await notify(queries, { kind: 'event', id: identity.host });
      return batch;
    });
    this.#known = mark;
    thinned.commit();
    questions?.commit();
    return rows;
  }

  async #batch(
    queries: Queries,
    { identity, before, keeps }: { identity: HostIdentity; before: Mark; keeps: (event: AgentEvent) => boolean },
  ): Promise<{ mark: Mark; rows: number }> {
    const mark: Mark = { n: before.n, homes: { ...before.homes } };
    for (const home of this.#deps.homes()) {
      const left = MOST_ROWS - (mark.n - before.n);
      if (left <= 0) break;
      const { chosen, seq } = next(home, { after: mark.homes[home.repository] ?? 0, limit: left, keeps });
      mark.homes[home.repository] = seq;
      if (chosen.length > 0) {
        await insertEvents(queries, { identity, home, first: mark.n + 1, events: chosen });
        await shipJobs(queries, { identity, home, ids: new Set(chosen.map(({ agentId }) => agentId)) });
      }
      mark.n += chosen.length;
    }
    const set = 'UPDATE reef.ship_mark SET n = $2, homes = $3 WHERE host = $1';
    await queries.query(set, [identity.host, mark.n, JSON.stringify(mark.homes)]);
    return { mark, rows: mark.n - before.n };
  }

  #hasNews(): boolean {
    const known = this.#known;
    return !known || this.#deps.homes().some((home) => (known.homes[home.repository] ?? 0) < home.events.lastSeq());
  }

  /** Until a home has something new, or a second has passed. */
  async #news(signal: AbortSignal): Promise<void> {
    const heard = new AbortController();
    const waits = this.#deps.homes().map((home) => home.signal.next(LOOK_MS, AbortSignal.any([signal, heard.signal])));
    await Promise.race([...waits, systemClock.sleep(LOOK_MS, heard.signal).catch(() => undefined)]);
    heard.abort();
  }

  #isOver(error: unknown): boolean {
    this.#known = undefined;
    const isUsual = error instanceof ReefError && (error.retryable || error.code === 'job_superseded');
    if (!isUsual) this.#deps.log.error('events cannot be shipped', { error });
    return false;
  }
}

async function lockedMark(queries: Queries, host: string): Promise<Mark> {
  await queries.query('INSERT INTO reef.ship_mark (host) VALUES ($1) ON CONFLICT DO NOTHING', [host]);
  const [row] = await queries.query<Mark>('SELECT n, homes FROM reef.ship_mark WHERE host = $1 FOR UPDATE', [host]);
  return row ?? { n: 0, homes: {} };
}

/** What comes next of a home, and up to where it was looked at. A home that was made anew counts from the beginning. */
function next(
  { events }: HomeSource,
  { after, limit, keeps }: { after: number; limit: number; keeps: (event: AgentEvent) => boolean },
): { chosen: AgentEvent[]; seq: number } {
  let seq = after > events.lastSeq() ? 0 : after;
  const chosen: AgentEvent[] = [];
  let characters = 0;
  for (const event of events.ofAll({ after: seq, limit })) {
    if (chosen.length > 0 && characters > MOST_CHARACTERS) break;
    seq = event.seq;
    if (!keeps(event)) continue;
    chosen.push(event);
    characters += JSON.stringify(event.payload).length;
  }
  return { chosen, seq };
}

async function insertEvents(
  queries: Queries,
  { identity, home, first, events }: { identity: HostIdentity; home: HomeSource; first: number; events: AgentEvent[] },
): Promise<void> {
  await queries.query(
    `INSERT INTO reef.event (host, repository, n, seq, at, run, job, type, payload)
     SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::jsonb[])
     ON CONFLICT DO NOTHING`,
    [
      identity.host,
      home.repository,
      events.map((_, index) => first + index),
      events.map(({ seq }) => seq),
      events.map(({ timestamp }) => timestamp),
      events.map(({ agentId }) => home.runOf(agentId) ?? null),
      events.map(({ agentId }) => agentId),
      events.map(({ type }) => type),
      events.map(({ payload }) => cleanJson(payload)),
    ],
  );
}
