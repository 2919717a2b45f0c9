import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ChangeSignal } from '../../events/change-signal.ts';
import { toReefError } from '../../protocol/errors.ts';
import { Cancelled } from '../../workflow/durable/durable.ts';
import type { Database } from '../database/database.ts';
import type { FleetEngine } from '../engine/fleet-engine.ts';
import { type Claimed, claimNext } from './claims.ts';
import type { HostFacts, HostSession } from './session.ts';
import { takeOverLost } from './take-over.ts';
import type { FleetTimings } from './timings.ts';

/** The home of one repository on this host. */
export interface WorkerHome {
  engine: FleetEngine;
  /** Begins a run under the id it was queued with; one that has begun goes on, on its own worktree or on a new one. */
  begin(run: Claimed): Promise<void>;
  /** Whatever works here for a run that another host has now ends. */
  forgetMoved(): Promise<void>;
  close(): Promise<void>;
}

interface WorkerDeps {
  database: Database;
  session: HostSession;
  facts: HostFacts;
  timings: FleetTimings;
  clock: Clock;
  log: Logger;
  openHome(repository: string): Promise<WorkerHome>;
}

/** Claims runs while it has free slots, keeps their homes, and judges other hosts. */
export class Worker {
  readonly #deps: WorkerDeps;
  readonly #homes = new Map<string, Promise<WorkerHome>>();
  readonly #wake = new ChangeSignal();
  readonly #closing = new AbortController();
  readonly #beginning = new Set<string>();
  #working: Promise<unknown> | undefined;

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
  }

  /** First what this host has already, then new runs. */
  async start(): Promise<void> {
    const { database, facts } = this.#deps;
    const mine = await database.query<{ repository: string }>(
      "SELECT DISTINCT repository FROM reef.run WHERE host = $1 AND status IN ('running', 'halted')",
      [facts.host],
    );
    for (const { repository } of mine) await this.#home(repository);
    await this.#takeUp();
    const stop = await database.listen('reef', () => this.#wake.notify());
    this.#working = Promise.all([this.#claimOn(), this.#judgeOn()]).finally(stop);
  }

  /** Resolves when the host was drained and has no run any more. */
  async drained(): Promise<void> {
    await this.#working;
  }

  /** Runs stay this host's: the next worker takes them up. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the worker ends'));
    this.#wake.notify();
    await this.#working?.catch(() => undefined);
    for (const home of this.#homes.values()) await (await home).close();
  }

  /** Another host has its runs: what works for them here ends, and its work stays in its worktree. */
  async letGo(): Promise<void> {
    for (const home of this.#homes.values()) {
      const { engine, forgetMoved } = await home;
      for (const run of engine.live) await engine.release(run, new Cancelled('another host has taken this run over'));
      await forgetMoved();
    }
  }

  walk(...[id, order]: Parameters<FleetEngine['walk']>): ReturnType<FleetEngine['walk']> {
    return this.#home(order.repository).then(({ engine }) => engine.walk(id, order));
  }

  async #claimOn(): Promise<void> {
    const { session, timings, log } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        for (const home of this.#homes.values()) await (await home).engine.heedCancels();
        while (session.state === 'up' && (await this.#claimOne()));
        await this.#park();
        if (session.state === 'draining' && (await this.#isEmpty())) return await this.#leave();
      } catch (error) {
        const { code, message } = toReefError(error);
        log.warn('no run can be claimed', { code, reason: message });
      }
      await this.#wake.next(timings.look, signal).catch(() => undefined);
    }
  }

  async #judgeOn(): Promise<void> {
    const { session, timings, clock, database, log, facts } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted && session.state !== 'gone') {
      const judge = { host: facts.host, heldMs: session.heldMs, ttl: timings.ttl };
      const taken = await takeOverLost(database, judge).catch(() => []);
      for (const host of taken) log.warn('a host is lost and its runs are queued again', { host });
      await this.#takeUp().catch((error: unknown) => log.debug('runs cannot be taken up', { error }));
      await clock.sleep(timings.beat, signal).catch(() => undefined);
    }
  }

  /** This host's and not walked in it, as after a kill, or an outage of the database in the middle of a claim. */
  async #takeUp(): Promise<void> {
    const { database, facts } = this.#deps;
    const live = new Set<string>();
    for (const opening of this.#homes.values()) {
      const { engine, forgetMoved } = await opening;
      await forgetMoved();
      await engine.recover();
      for (const run of engine.live) live.add(run);
    }
    const begun = await database.query<Claimed>(
      `SELECT id, repository, task, spec, by, known FROM reef.run
       WHERE host = $1 AND status = 'running' AND (NOT known OR moving IS NOT NULL)`,
      [facts.host],
    );
    for (const run of begun) if (!live.has(run.id)) await this.#begin(run);
  }

  async #claimOne(): Promise<boolean> {
    const { database, session, facts, log } = this.#deps;
    const { identity } = session;
    const run = identity && (await claimNext(database, identity, facts));
    if (!run) return false;
    log.info('a run is claimed', { run: run.id, repository: run.repository });
    await this.#begin(run);
    return true;
  }

  async #begin(run: Claimed): Promise<void> {
    if (this.#beginning.has(run.id)) return;
    this.#beginning.add(run.id);
    try {
      const { engine, begin } = await this.#home(run.repository);
      if (!engine.isStuck(run.id)) await begin(run);
    } catch (error) {
      await this.#giveBack(run, error);
    } finally {
      this.#beginning.delete(run.id);
    }
  }

  /** What passes is tried again; what a person must mend is told as the run's end. */
  async #giveBack(run: Claimed, error: unknown): Promise<void> {
    const { database, log } = this.#deps;
    const { code, message, retryable } = toReefError(error);
    log.warn('a run does not begin here', { run: run.id, code, reason: message });
    if (retryable) {
      const sql = "UPDATE reef.run SET status = 'queued', host = NULL, epoch = NULL, queued_at = now() WHERE id = $1";
      return void (await database.query(sql, [run.id]));
    }
    // What has begun is not ended by a host that cannot go on with it.
    const [status, outcome] = run.known
      ? ['parked', { halt: code, message }]
      : ['ended', { status: 'failed', error: { code, message } }];
    await database.query(
      `UPDATE reef.run SET status = $2, outcome = $3, host = CASE $2 WHEN 'ended' THEN host END,
         ended_at = CASE $2 WHEN 'ended' THEN now() END WHERE id = $1`,
      [run.id, status, JSON.stringify(outcome)],
    );
  }

  /** A run that waits for a person gives its slot back; an answer queues it again. */
  async #park(): Promise<void> {
    const { timings, clock, session } = this.#deps;
    const patience = session.state === 'draining' ? 0 : timings.park;
    for (const opening of this.#homes.values()) {
      const { engine } = await opening;
      for (const run of engine.idleSince(clock.monotonicMs() - patience)) await engine.park(run);
    }
  }

  async #isEmpty(): Promise<boolean> {
    const { database, facts } = this.#deps;
    const sql = "SELECT 1 FROM reef.run WHERE host = $1 AND status IN ('running', 'halted') LIMIT 1";
    return (await database.query(sql, [facts.host])).length === 0;
  }

  async #leave(): Promise<void> {
    await this.#deps.session.tell('gone');
    this.#closing.abort(new Error('the host is drained'));
  }

  #home(repository: string): Promise<WorkerHome> {
    const known = this.#homes.get(repository);
    if (known) return known;
    const opening = this.#deps.openHome(repository);
    this.#homes.set(repository, opening);
    opening.catch(() => this.#homes.delete(repository));
    return opening;
  }
}
