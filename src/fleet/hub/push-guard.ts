import type { Logger } from '../../base/log.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Database, Queries } from '../database/database.ts';

/** What a push wants, as its hook tells it. */
interface Push {
  host: string;
  epoch: number;
  refs: { from: string; to: string; name: string }[];
}

const RUN_REF = /^refs\/reef\/([0-9A-Za-z_-]{1,64})\/(?:base|tip|try\/[\w.-]{1,200})$/;
const NONE = /^0+$/;

/** Parses the lines of the hook. What is no such line is refused with the push. */
function parsePush(lines: readonly string[]): Push {
  const option = (name: string) => lines.find((line) => line.startsWith(`option ${name}=`))?.slice(8 + name.length);
  const host = option('reef-host');
  const epoch = Number(option('reef-epoch') ?? Number.NaN);
  if (host === undefined || !Number.isSafeInteger(epoch)) {
    throw new ReefError('bad_request', 'A push says which host it comes from: -o reef-host=ID -o reef-epoch=N');
  }
  const refs = lines.flatMap((line) => {
    const [kind, from = '', to = '', name = ''] = line.split(' ');
    return kind === 'ref' ? [{ from, to, name }] : [];
  });
  return { host, epoch, refs };
}

/** Decides on pushes. What it lets through cannot be taken over until it has landed or failed. */
export class PushGuard {
  readonly #database: Database;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(database: Database, log: Pick<Logger, 'warn'>) {
    this.#database = database;
    this.#log = log;
  }

  /** `answer` is called once, before `landed` has to resolve; the host's row stays locked until then. */
  async decide(
    { host, repository }: { host: string; repository: string },
    lines: readonly string[],
    { answer, landed }: { answer(words: string): void; landed: Promise<unknown> },
  ): Promise<void> {
    let isAnswered = false;
    const say = (words: string) => {
      isAnswered = true;
      answer(words);
    };
    try {
      const push = parsePush(lines);
      if (push.host !== host) throw new ReefError('role_forbidden', `The token is that of host ${host}`);
      await this.#database.transaction(async (queries) => {
        await queries.query('SELECT reef.fence($1, $2)', [push.host, push.epoch]);
        await refuseForeign(queries, push, repository);
        say('ok');
        await landed;
      });
    } catch (error) {
      const { code, message } = toReefError(error);
      if (isAnswered) this.#log.warn('a push ended while the database was away', { host, error });
      else say(`${code}: ${message.replaceAll(/\s+/g, ' ')}`);
    }
  }
}

/** A host writes the refs of runs that it has, and nothing else. */
async function refuseForeign(queries: Queries, { host, epoch, refs }: Push, repository: string): Promise<void> {
  for (const { name, to, from } of refs) {
    const run = RUN_REF.exec(name)?.[1];
    if (run === undefined) throw new ReefError('ref_invalid', `The hub keeps no ${name}: work goes to refs/reef/RUN`);
    if (name.endsWith('/base') && !NONE.test(from) && !NONE.test(to)) {
      throw new ReefError('ref_invalid', `${name} is where the run began and does not move`);
    }
    const [own] = await queries.query(
      'SELECT 1 FROM reef.run WHERE id = $1 AND host = $2 AND epoch = $3 AND repository = $4',
      [run, host, epoch, repository],
    );
    if (!own) throw new ReefError('job_superseded', `Run ${run} is not at host ${host} in epoch ${epoch}`);
  }
}
