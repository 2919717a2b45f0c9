import type { InboxEntry } from '../../protocol/job-operations.ts';
import type { Queries } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import type { HomeSource, HostIdentity } from './home-source.ts';

interface Found {
  repository: string;
  questions: InboxEntry[];
}

/** The same on whichever host a run is. */
function idOf(repository: string, { jobId, questionId }: InboxEntry): string {
  return `${repository}/${jobId}/${questionId}`;
}

/** Keeps the one inbox as the homes of this host have theirs. */
export class QuestionSync {
  #written = '';

  /** Undefined when nothing has changed since it was written last. */
  async changed(
    homes: readonly HomeSource[],
    identity: HostIdentity,
  ): Promise<{ write(queries: Queries): Promise<void>; commit(): void } | undefined> {
    const found: Found[] = [];
    for (const home of homes) found.push({ repository: home.repository, questions: await home.questions() });
    const key = JSON.stringify([identity, found]);
    if (key === this.#written) return undefined;
    return {
      write: async (queries) => {
        for (const each of found) await writeQuestions(queries, identity, each);
      },
      commit: () => {
        this.#written = key;
      },
    };
  }
}

async function writeQuestions(queries: Queries, { host, epoch }: HostIdentity, found: Found): Promise<void> {
  const { repository, questions } = found;
  for (const entry of questions) {
    const { jobId, runId, questionId } = entry;
    // What was answered and not yet passed on is no news; what a run asks again on another host is.
    await queries.query(
      `INSERT INTO reef.question (id, host, epoch, repository, run, job, key, doc, opened_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE SET host = excluded.host, epoch = excluded.epoch, doc = excluded.doc, closed_at = NULL, closed_why = NULL`,
      [
        idOf(repository, entry),
        host,
        epoch,
        repository,
        runId ?? null,
        jobId === runId ? null : jobId,
        questionId,
        cleanJson(entry),
        entry.askedAt,
      ],
    );
  }
  // A parked run asks nobody on its host any more, and still waits for its answer.
  await queries.query(
    `UPDATE reef.question q SET closed_at = now(), closed_why = CASE WHEN answer IS NULL THEN 'withdrawn' ELSE 'answered' END
     WHERE host = $1 AND repository = $2 AND closed_at IS NULL AND NOT id = ANY($3)
       AND NOT EXISTS (SELECT 1 FROM reef.run r WHERE r.id = q.run AND r.status IN ('parked', 'queued') AND q.job IS NULL)`,
    [host, repository, questions.map((entry) => idOf(repository, entry))],
  );
}
