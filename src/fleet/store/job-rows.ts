import type { JobView } from '../../protocol/job-operations.ts';
import type { Usage } from '../../protocol/jobs.ts';
import type { Queries } from '../database/database.ts';
import { holdToBudgets } from './budgets.ts';
import { cleanJson, cleanText } from './clean-json.ts';
import type { HomeSource, HostIdentity } from './home-source.ts';

interface Of {
  identity: HostIdentity;
  home: HomeSource;
}

/** The jobs of a batch as they are now, with what they have used since they were shipped last. */
export async function shipJobs(queries: Queries, { ids, ...of }: Of & { ids: ReadonlySet<string> }): Promise<void> {
  for (const id of ids) {
    const job = await of.home.job(id);
    if (job) await shipJob(queries, job, of);
  }
}

async function shipJob(queries: Queries, job: JobView, { identity, home }: Of): Promise<void> {
  const run = home.runOf(job.id) ?? null;
  const [before] = await queries.query<{ usage: Usage | null }>(
    "SELECT doc -> 'usage' AS usage FROM reef.job WHERE id = $1 FOR UPDATE",
    [job.id],
  );
  await queries.query(
    `INSERT INTO reef.job (id, run, host, repository, agent, title, status, doc, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now())
     ON CONFLICT (id) DO UPDATE SET run = excluded.run, host = excluded.host, status = excluded.status, doc = excluded.doc, updated_at = now()`,
    [job.id, run, identity.host, home.repository, job.agent, titleOf(job), job.status, cleanJson(job)],
  );
  const used = since(job.usage, before?.usage ?? undefined);
  if (used.input === 0 && used.output === 0 && used.cost === 0) return;
  await queries.query(
    `INSERT INTO reef.usage (host, n, at, repository, person, run, job, agent, input, output, cost)
     SELECT $1, coalesce(max(n), 0) + 1, now(), $2, (SELECT by FROM reef.run WHERE id = $3), $3, $4, $5, $6, $7, $8 FROM reef.usage WHERE host = $1`,
    [identity.host, home.repository, run, job.id, job.agent, used.input, used.output, used.cost],
  );
  await holdToBudgets(queries, { repository: home.repository, run });
}

function titleOf({ task }: JobView): string {
  return cleanText(task.split('\n', 1)[0] ?? '').slice(0, 200);
}

function since(now: Usage, before: Usage | undefined): { input: number; output: number; cost: number } {
  const all = (usage: Usage | undefined) => (usage ? usage.input + usage.cacheRead + usage.cacheWrite : 0);
  const grown = (value: number, old: number) => Math.max(0, value - old);
  return {
    input: grown(all(now), all(before)),
    output: grown(now.output, before?.output ?? 0),
    cost: grown(now.costUsd ?? 0, before?.costUsd ?? 0),
  };
}
