import type { JobManager } from '../../agents/job-manager.ts';
import type { JobRuntime } from '../../agents/job-runtime.ts';
import { capText } from '../../base/cap.ts';
import { fingerprint } from '../../base/fingerprint.ts';
import { jobOperations } from '../../protocol/job-operations.ts';
import type { Caller } from '../../protocol/operations.ts';
import type { Attempt } from '../../protocol/run-operations.ts';
import type { Store } from '../../store/store.ts';

/** What a reviewer is shown of an attempt. */
export interface Shown {
  runId: string;
  patch: string;
  tree: string;
}

type Review = NonNullable<Attempt['review']>;

/** All patches together, in bytes: what a model reads at once. */
const SHOWN_BYTES = 200_000;
const LINE = /^RANK\s+(\d+)\s+([0-9A-Z]{26})[\s:]*(.*)$/gm;

/** Names one review of exactly these files, however often it is asked for. */
const keyOf = (group: string, shown: readonly Shown[]) =>
  `review ${fingerprint({ group, trees: shown.map(({ runId, tree }) => [runId, tree]) })}`;

/** An agent reads what each attempt has changed, and may change nothing. */
export async function startReview(
  jobs: Pick<JobManager, 'spawn'>,
  { agent, task, group, shown }: { agent: string; task: string; group: string; shown: readonly Shown[] },
  caller: Caller,
): Promise<string> {
  const room = Math.floor(SHOWN_BYTES / Math.max(1, shown.length));
  const changes = shown.map(({ runId, patch }) => `## Attempt ${runId}\n\n${capText(patch, room)}`);
  const prompt = [
    `Several agents tried the same task. Compare their changes: is the task done, is it correct, is it simple? Change no file.`,
    `# The task\n\n${task}`,
    ...changes,
    'Answer with one line for each attempt, the best first, and nothing after them:\nRANK <number> <id of the attempt> <one sentence why>',
  ].join('\n\n');
  const request = jobOperations.spawn.input.parse({ agent, task: prompt });
  const { agentId } = await jobs.spawn({ ...request, key: keyOf(group, shown), readonly: true }, caller);
  return agentId;
}

/** What a reviewer of just these files said, by the run; empty while there is none. */
export function reviewOf({ jobs }: Store, group: string, shown: readonly Shown[]): Map<string, Review> {
  const found = jobs.byKey<JobRuntime>(keyOf(group, shown));
  if (found?.job.status !== 'completed') return new Map();
  const lines = [...found.runtime.lastText.matchAll(LINE)];
  return new Map(
    lines.map(([, rank, runId = '', remark = '']) => [runId, { rank: Number(rank), remark: remark.trim() }]),
  );
}
