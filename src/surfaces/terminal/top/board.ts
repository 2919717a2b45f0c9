import { isOver } from '../../../protocol/is-over.ts';
import type { InboxEntry, JobView } from '../../../protocol/job-operations.ts';
import type { RunSummary } from '../../../protocol/run-operations.ts';
import { stateOfJob, stateOfRun, type TaskState } from '../../render/next-steps.ts';

/** What one daemon said when it was last asked. */
export interface Look {
  repository: string;
  jobs: readonly JobView[];
  runs: readonly RunSummary[];
  questions: readonly InboxEntry[];
}

export const GROUPS = ['asks', 'needs you', 'working', 'waiting', 'ended'] as const;
export type Group = (typeof GROUPS)[number];

interface Common {
  /** The same from look to look, so that the selection stays where it is. */
  key: string;
  group: Group;
  repository: string;
  /** Of the run, or of the job where there is none. */
  id: string;
  /** ISO time: oldest first among what asks, newest first elsewhere. */
  since: string;
}

export interface QuestionItem extends Common {
  kind: 'question';
  question: InboxEntry;
}

export interface TaskItem extends Common {
  kind: 'task';
  state: TaskState;
  task: string;
  /** Of a run, the agent that works on it now or did so last. */
  job: JobView | undefined;
  run: RunSummary | undefined;
}

export type Item = QuestionItem | TaskItem;

const NEEDS_YOU: ReadonlySet<TaskState> = new Set([
  'setup_failed',
  'halted',
  'success',
  'failed',
  'gates_failed',
  'conflict',
  'behind',
  'not_merged',
  'job_paused',
  'job_failed',
]);
const WAITING: ReadonlySet<TaskState> = new Set(['queued', 'job_queued', 'merge_waits']);
const WORKING: ReadonlySet<TaskState> = new Set(['working', 'job_working', 'asking']);
const MOST_ENDED = 12;

/** Everything of all repositories, in the order in which a person wants to see it. */
export function boardOf(looks: readonly Look[]): Item[] {
  const all = looks.flatMap((look) => [...questionsOf(look), ...tasksOf(look).filter((task) => !isAsking(task, look))]);
  return GROUPS.flatMap((group) => {
    const items = all.filter((item) => item.group === group);
    items.sort((one, other) => (group === 'asks' ? 1 : -1) * one.since.localeCompare(other.since));
    return group === 'ended' ? items.slice(0, MOST_ENDED) : items;
  });
}

/** Its question stands above, and says more. */
function isAsking({ id }: TaskItem, { questions }: Look): boolean {
  return questions.some(({ runId, jobId }) => (runId ?? jobId) === id);
}

function questionsOf({ repository, questions }: Look): QuestionItem[] {
  return questions.map((question) => ({
    kind: 'question',
    key: `${repository} ${question.jobId} ${question.questionId} ${question.fingerprint}`,
    group: 'asks',
    repository,
    id: question.runId ?? question.jobId,
    since: question.askedAt,
    question,
  }));
}

/** A run is shown as one line, with the agent that works for it; jobs without a run have a line of their own. */
function tasksOf({ repository, jobs, runs }: Look): TaskItem[] {
  const agents = new Map<string, JobView>();
  for (const job of jobs) {
    const run = job.by?.startsWith('run:') ? job.by.slice('run:'.length) : undefined;
    const other = run === undefined ? undefined : agents.get(run);
    if (run !== undefined && (other === undefined || other.createdAt < job.createdAt)) agents.set(run, job);
  }
  const shown = new Set(runs.map(({ runId }) => `run:${runId}`));
  return [
    ...runs
      .filter(({ continuedBy }) => continuedBy === undefined)
      .map((run) => taskItem({ repository, state: stateOfRun(run), run, job: agents.get(run.runId) })),
    ...jobs
      .filter(({ by }) => by === undefined || !shown.has(by))
      .map((job) => taskItem({ repository, state: stateOfJob(job), run: undefined, job })),
  ];
}

function taskItem(task: Pick<TaskItem, 'repository' | 'state' | 'run' | 'job'>): TaskItem {
  const { run, job, repository } = task;
  const id = run?.runId ?? job?.id ?? '';
  const created = run?.createdAt ?? job?.createdAt ?? '';
  const since = (run ? run.endedAt : job && isOver(job.status) ? job.endedAt : undefined) ?? created;
  const words = run?.task ?? job?.task ?? '';
  return { ...task, kind: 'task', key: `${repository} ${id}`, group: groupOf(task.state), id, since, task: words };
}

function groupOf(state: TaskState): Group {
  if (NEEDS_YOU.has(state)) return 'needs you';
  if (WAITING.has(state)) return 'waiting';
  return WORKING.has(state) ? 'working' : 'ended';
}
