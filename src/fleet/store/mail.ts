import type { Logger } from '../../base/log.ts';
import { ChangeSignal } from '../../events/change-signal.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Database } from '../database/database.ts';
import { type Command, endCommand, takeCommands } from './commands.ts';
import type { HomeSource, HostDeps, HostIdentity } from './home-source.ts';
import { answerDelivered, answerRefused, waitingAnswers } from './inbox.ts';
import { CHANNEL, parseNotice } from './notify.ts';

interface Deps extends HostDeps {
  database: Database;
  log: Logger;
}

const ASKED_MS = 1_000;
const QUIET_MS = 5_000;
/** The home may show the question a moment later than the fleet. */
const NOT_YET: ReadonlySet<string> = new Set(['question_not_found', 'job_not_found', 'run_not_found']);
const MOST_TRIES = 30;

/** What people send to this host: answers and commands, done in its homes and acknowledged to the fleet. */
export class Mail {
  readonly #deps: Deps;
  readonly #doing = new Set<number>();
  readonly #tries = new Map<string, number>();
  readonly #wake = new ChangeSignal();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { database, log } = this.#deps;
    const stop = await this.#listen(database).catch(() => () => {});
    while (!signal.aborted) {
      const isAsked = await this.look().catch((error: unknown) => {
        const isUsual = error instanceof ReefError && (error.retryable || error.code === 'job_superseded');
        if (!isUsual) log.error('what people sent cannot be read', { error });
        return true;
      });
      await this.#wake.next(isAsked ? ASKED_MS : QUIET_MS, signal);
    }
    stop();
  }

  /** Does what has come. True while somebody waits for an answer, so that the next one is not long in coming. */
  async look(): Promise<boolean> {
    const identity = this.#deps.identity();
    if (!identity) return true;
    const { database } = this.#deps;
    for (const command of await takeCommands(database, identity.host, [...this.#doing])) void this.#perform(command);
    for (const answer of await waitingAnswers(database, identity.host)) await this.#deliver(answer, identity);
    const questions = 'SELECT 1 FROM reef.question WHERE host = $1 AND closed_at IS NULL LIMIT 1';
    return (await database.query(questions, [identity.host])).length > 0;
  }

  #listen(database: Database): Promise<() => void> {
    return database.listen(CHANNEL, (heard) => {
      const notice = heard && parseNotice(heard.payload);
      const host = this.#deps.identity()?.host;
      const isMine = notice?.kind === 'answer' || (notice?.kind === 'command' && notice.id === host);
      if (!heard || isMine) this.#wake.notify();
    });
  }

  async #perform({ n, op, args, by }: Command): Promise<void> {
    this.#doing.add(n);
    const { database, log } = this.#deps;
    try {
      const end = await this.#home(args.repository)
        .then((home) => home.perform(op, args.input, by))
        .then(
          (result) => ({ result }),
          (error: unknown) => ({ error }),
        );
      await endCommand(database, n, end);
    } catch (error) {
      log.warn('the end of a command cannot be told yet', { n, error });
    } finally {
      this.#doing.delete(n);
    }
  }

  async #deliver(
    { id, repository, value, by, job, run, key }: Awaited<ReturnType<typeof waitingAnswers>>[number],
    { host, epoch }: HostIdentity,
  ): Promise<void> {
    const { database } = this.#deps;
    try {
      const home = await this.#home(repository);
      await home.perform('send', { id: job ?? run, questionId: key, key: `fleet:${id}`, ...value }, by);
    } catch (error) {
      const { code, retryable } = toReefError(error);
      const tries = (this.#tries.get(id) ?? 0) + 1;
      this.#tries.set(id, tries);
      if (retryable || (NOT_YET.has(code) && tries < MOST_TRIES)) return;
      this.#tries.delete(id);
      await database.transaction((queries) => answerRefused(queries, id, code));
      return;
    }
    this.#tries.delete(id);
    await database.transaction(async (queries) => {
      await queries.query('SELECT reef.fence($1, $2)', [host, epoch]);
      await answerDelivered(queries, id);
    });
  }

  async #home(repository: string): Promise<HomeSource> {
    const home = this.#deps.homes().find((each) => each.repository === repository);
    if (!home) throw new ReefError('repository_not_found', `This host has no home of repository ${repository}`);
    return home;
  }
}
