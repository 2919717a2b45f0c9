import { statfs } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Connection, Database } from '../database/database.ts';
import type { HostIdentity } from '../engine/run-records.ts';
import { endSession } from './take-over.ts';
import type { FleetTimings } from './timings.ts';

export interface HostFacts {
  host: string;
  boot: string;
  labels: string[];
  slots: number;
  version: string;
  interpreter: number;
  /** Where worktrees lie: too little room there, and the host claims nothing. */
  folder: string;
}

interface SessionDeps {
  database: Database;
  facts: HostFacts;
  timings: FleetTimings;
  clock: Clock;
  log: Logger;
  /** Another host has its runs now: whatever works for them here ends. Resolves when it has. */
  onSuperseded(): Promise<void>;
  /** The session was lost: whatever else goes the same way to the database hangs, or is gone too. */
  onCut?(): void;
}

export type HostState = 'up' | 'unfit' | 'draining' | 'lost' | 'gone';

const LOCK = "hashtextextended('host:' || $1, 0)";
const LOCK_TRIES = 10;
const SLOW_BEAT_MS = 2_000;
const LEAST_FREE_BYTES = 5 * 2 ** 30;
const LONGEST_PAUSE_MS = 5_000;
/** A judge must find us again before our time is up. */
const TRIES_A_TTL = 10;

/**
 * The one session of a worker: a connection of its own that holds the lock of the host's id and beats. When the connection
 * is lost it is made again; if nobody has taken the host over meanwhile, nothing has happened.
 */
export class HostSession {
  readonly #deps: SessionDeps;
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #epoch = 0;
  #since = 0;
  #state: HostState = 'up';
  #away: Date | undefined;
  #beating: Promise<void> | undefined;

  constructor(deps: SessionDeps) {
    this.#deps = deps;
  }

  /** Undefined while there is no session. */
  get identity(): HostIdentity | undefined {
    return this.#connection && !this.#connection.over.aborted
      ? { host: this.#deps.facts.host, epoch: this.#epoch }
      : undefined;
  }

  /** As it was last known: what it lands under this is refused when it is over. */
  get last(): HostIdentity {
    return { host: this.#deps.facts.host, epoch: this.#epoch };
  }

  /** Since when the database does not answer. */
  get awaySince(): Date | undefined {
    return this.#away;
  }

  get state(): HostState {
    return this.#state;
  }

  /** For how long this session has been held, without a gap. */
  get heldMs(): number {
    return this.identity ? this.#deps.clock.monotonicMs() - this.#since : 0;
  }

  /** A new life of the host: whatever its former process still sends is of an epoch that is over. */
  async open(): Promise<void> {
    await this.#connect();
    await this.#register();
    this.#beating = this.#beatOn();
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the worker ends'));
    await this.#beating;
    await this.#connection?.close();
  }

  /** Says that this host takes no more runs; `gone` when it has none left. */
  async tell(state: 'draining' | 'gone'): Promise<void> {
    this.#state = state;
    const sql = 'UPDATE reef.host SET state = $3 WHERE id = $1 AND epoch = $2';
    await this.#deps.database.query(sql, [this.#deps.facts.host, this.#epoch, state]);
  }

  async #connect(): Promise<void> {
    const { database, facts, clock } = this.#deps;
    const connection = await database.connect();
    for (let attempt = 1; ; attempt++) {
      const [row] = await connection.query<{ held: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS held`, [
        facts.host,
      ]);
      if (row?.held) break;
      await this.#endFormer(connection);
      if (attempt === LOCK_TRIES) {
        await connection.close();
        throw new ReefError('host_id_in_use', `Another worker is connected as ${facts.host}`);
      }
      await clock.sleep(200, this.#closing.signal); // a former process of ours may just have ended
    }
    this.#connection = connection;
    this.#since = clock.monotonicMs();
  }

  /** Behind a dead link the server still keeps the session that this process had before, or one of a machine that is gone. */
  async #endFormer(connection: Connection): Promise<void> {
    const { facts, timings } = this.#deps;
    const [former] = await connection.query<{ pid: number }>(
      `SELECT l.pid FROM pg_locks l JOIN reef.host h ON h.id = $1
       WHERE (h.boot = $2 OR h.beat < now() - $3 * interval '1 millisecond') AND l.locktype = 'advisory' AND l.granted
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> pg_backend_pid()
         AND (l.classid::bigint << 32) | l.objid::bigint = ${LOCK}`,
      [facts.host, facts.boot, timings.ttl],
    );
    if (former) await endSession(connection, former.pid);
  }

  async #register(): Promise<void> {
    const { database, facts } = this.#deps;
    this.#epoch = await database.transaction(async (q) => {
      const [row] = await q.query<{ epoch: number }>(
        `INSERT INTO reef.host AS h (id, boot, epoch, beat, backend_pid, labels, slots, version, interpreter, session_since)
         VALUES ($1, $2, 1, now(), $3, $4, $5, $6, $7, now())
         ON CONFLICT (id) DO UPDATE SET boot = $2, epoch = h.epoch + 1, state = 'up', beat = now(), fenced_at = NULL,
           backend_pid = $3, labels = $4, slots = $5, version = $6, interpreter = $7, session_since = now()
         RETURNING epoch`,
        [
          ...[facts.host, facts.boot, this.#connection?.backendPid, facts.labels, facts.slots],
          ...[facts.version, facts.interpreter],
        ],
      );
      const epoch = row?.epoch ?? 0;
      const mine = "UPDATE reef.run SET epoch = $2 WHERE host = $1 AND status IN ('running', 'halted')";
      await q.query(mine, [facts.host, epoch]);
      return epoch;
    });
    this.#state = 'up';
  }

  async #beatOn(): Promise<void> {
    const { clock, timings, log } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#beat();
        await clock.sleep(timings.beat, signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn('the database does not answer; agents go on', { reason: toReefError(error).message });
        await this.#reconnect();
      }
    }
  }

  async #beat(): Promise<void> {
    const { clock, facts } = this.#deps;
    const connection = this.#connection;
    if (!connection) throw new ReefError('storage_unavailable', 'there is no session');
    const started = clock.monotonicMs();
    const free = await freeBytes(facts.folder);
    const [row] = await connection.query<{ state: HostState }>(
      `UPDATE reef.host SET beat = now(), free_bytes = $3, used = (
         SELECT count(*) FROM reef.run WHERE host = $1 AND status IN ('running', 'halted')),
         state = CASE WHEN state NOT IN ('up', 'unfit') THEN state WHEN $4 THEN 'unfit' ELSE 'up' END, labels = $5
       WHERE id = $1 AND epoch = $2 RETURNING state`,
      [facts.host, this.#epoch, free, this.#isUnfit(free), facts.labels],
    );
    if (!row) return this.#superseded();
    this.#state = row.state;
    this.#beatMs = clock.monotonicMs() - started;
    await connection.query('UPDATE reef.host SET beat_ms = $2 WHERE id = $1', [facts.host, Math.round(this.#beatMs)]);
  }

  #beatMs = 0;

  #isUnfit(free: number): boolean {
    return this.#beatMs > SLOW_BEAT_MS || free < LEAST_FREE_BYTES;
  }

  async #reconnect(): Promise<void> {
    const { clock, timings, log } = this.#deps;
    const { signal } = this.#closing;
    this.#away = clock.now();
    if (this.#connection?.over.aborted) this.#deps.onCut?.();
    await this.#connection?.close().catch(() => undefined);
    this.#connection = undefined;
    const longest = Math.min(LONGEST_PAUSE_MS, timings.ttl / TRIES_A_TTL);
    for (let pause = timings.beat / 4; !signal.aborted; pause = Math.min(pause * 2, longest)) {
      try {
        await this.#connect();
        await this.#judge();
        this.#away = undefined;
        return;
      } catch (error) {
        log.debug('the database is away', { error });
        await clock.sleep(pause, signal).catch(() => undefined);
      }
    }
  }

  /** Connected again. With the same epoch nothing has happened. */
  async #judge(): Promise<void> {
    const { facts } = this.#deps;
    const [row] =
      (await this.#connection?.query<{ epoch: number }>(
        'UPDATE reef.host SET backend_pid = $2, session_since = now() WHERE id = $1 RETURNING epoch',
        [facts.host, this.#connection.backendPid],
      )) ?? [];
    if (row?.epoch !== this.#epoch) await this.#superseded();
  }

  async #superseded(): Promise<void> {
    this.#deps.log.warn('another host has taken over the runs of this one', { host: this.#deps.facts.host });
    await this.#deps.onSuperseded();
    await this.#register();
  }
}

/** None where the disk does not answer: nothing could work there. */
async function freeBytes(folder: string): Promise<number> {
  const found = await statfs(folder).catch(() => undefined);
  return found ? found.bavail * found.bsize : 0;
}
