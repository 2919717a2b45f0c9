import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { CarriedWork } from '../../workflow/run/ports.ts';
import type { MovedRun } from '../../workflow/runs/moving.ts';
import type { Database, Queries } from '../database/database.ts';
import type { HostIdentity } from '../store/home-source.ts';
import type { HubRemote, RunPlace } from './hub-remote.ts';

interface CarrierDeps {
  database: Database;
  /** Undefined: this host was told of no hub, and its runs stay on it. */
  hub: HubRemote | undefined;
  repository: string;
  /** The checkout's, of this host. */
  gitDir(): string;
  self(): HostIdentity;
  describe(run: string): (MovedRun & { worktreeId: string }) | undefined;
  clock: Clock;
  log: Logger;
  /** For how long the work of a block is tried to be brought to the hub. */
  patienceMs: number;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** It was tried for long enough, and a person is told. */
class GaveUp extends ReefError {
  override get retryable(): boolean {
    return false;
  }
}

/** Brings the work of runs to the hub, and from there to this host. */
export class Carrier {
  readonly #deps: CarrierDeps;

  constructor(deps: CarrierDeps) {
    this.#deps = deps;
  }

  /** Says where the run is worked on. Its base goes to the hub first: from then on it may move. */
  async begin(run: string): Promise<void> {
    const { describe, self, log } = this.#deps;
    const about = describe(run);
    if (!about) return;
    const { worktreeId, ...moved } = about;
    const isCarried = await this.#pushBase(run, moved).catch((error: unknown) => {
      const { code, message } = toReefError(error);
      if (code === 'job_superseded') throw error;
      log.warn('the base of a run did not reach the hub: it stays on this host', { run, code, reason: message });
      return false;
    });
    const { host } = self();
    await this.#fenced(run, (q) =>
      q.query('UPDATE reef.run SET place = $2, moving = coalesce(moving, $3::json) WHERE id = $1', [
        ...[run, `${host}/${worktreeId}`, isCarried ? JSON.stringify(moved) : null],
      ]),
    );
  }

  /** Under its own ref, then as the tip of the run. It ends when the work is there, or when nobody waits for it any more. */
  async land(work: CarriedWork): Promise<void> {
    const { hub, clock, log, patienceMs } = this.#deps;
    if (!hub || !(await this.#isCarried(work))) return;
    const began = clock.monotonicMs();
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        return await this.#land(hub, work);
      } catch (error) {
        const { code, message, retryable } = toReefError(error);
        if (code === 'job_superseded') await aborted(work.abort);
        if (!retryable) throw error;
        if (clock.monotonicMs() - began + pause > patienceMs)
          throw new GaveUp('remote_unavailable', message, { cause: error });
        log.warn('the work of a block does not reach the hub yet', { run: work.runId, code, reason: message });
        await clock.sleep(pause, work.abort);
      }
    }
  }

  /** Brings what other hosts have done. `from` is the checkpoint to begin with; undefined: the base. */
  async bring(run: string, from: string | undefined): Promise<void> {
    const { hub } = this.#deps;
    if (!hub) throw new ReefError('remote_unavailable', 'This host was told of no hub: reef worker --hub ADDRESS');
    const at = this.#place(run);
    await hub.fetch(at);
    if (from === undefined || (await hub.has(at, from))) return;
    throw new ReefError('nothing_promoted', `The hub has no ${from}, with which run ${run} goes on`);
  }

  async #pushBase(run: string, { worktree }: MovedRun): Promise<boolean> {
    const { hub, database } = this.#deps;
    if (!hub) return false;
    const sql = 'SELECT 1 FROM reef.run WHERE id = $1 AND moving IS NOT NULL';
    const isThere = (await database.query(sql, [run])).length > 0;
    if (!isThere) await hub.pushBase(this.#place(run), worktree.base.commit);
    return true;
  }

  /** The hub may have been away when it began. */
  async #isCarried({ runId }: CarriedWork): Promise<boolean> {
    const sql = 'SELECT moving IS NOT NULL AS carried FROM reef.run WHERE id = $1';
    const isCarried = async () => (await this.#deps.database.query<{ carried: boolean }>(sql, [runId]))[0]?.carried;
    if (await isCarried()) return true;
    await this.begin(runId);
    return (await isCarried()) === true;
  }

  async #land(hub: HubRemote, work: CarriedWork): Promise<void> {
    const { runId, key, branch, visit, attempt, from, commit } = work;
    const at = this.#place(runId);
    const name = branch === 'main' ? visit : `${branch}.${visit}`;
    await hub.pushAttempt(at, `${name}.${attempt}`, commit);
    if (branch === 'main') await this.#promote(hub, { at, name, from, to: commit });
    await this.#fenced(runId, async (q) => {
      const done = 'UPDATE reef.attempt SET "commit" = $4 WHERE run = $1 AND key = $2 AND attempt = $3';
      await q.query(done, [runId, key, attempt, commit]);
    });
  }

  async #promote(
    hub: HubRemote,
    { at, name, from, to }: { at: RunPlace; name: string; from: string | undefined; to: string },
  ): Promise<void> {
    try {
      await hub.promote(at, { from, to });
    } catch (error) {
      if (toReefError(error).code !== 'nothing_promoted') throw error;
      // An earlier attempt at this visit was promoted, and its host was lost before it could say so.
      const tip = await hub.tip(at);
      if (tip === undefined || !(await hub.attemptsAt(at, name)).includes(tip)) throw error;
      await hub.promote(at, { from: tip, to });
    }
  }

  #place(run: string): RunPlace {
    return { repository: this.#deps.repository, run, gitDir: this.#deps.gitDir() };
  }

  #fenced(run: string, work: (q: Queries) => Promise<unknown>): Promise<void> {
    const { database, self } = this.#deps;
    const { host, epoch } = self();
    return database.transaction(async (q) => {
      await q.query('SELECT reef.fence($1, $2)', [host, epoch]);
      const [own] = await q.query('SELECT 1 FROM reef.run WHERE id = $1 AND host = $2 FOR UPDATE', [run, host]);
      if (!own) throw new ReefError('job_superseded', `Run ${run} is not at host ${host}`);
      await work(q);
    });
  }
}

/** Whoever lost the run neither lands nor records anything: it waits to be told so. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
