import { blockName, cost, firstLine, plain, plural, tokens } from '../../format.ts';
import { worktrees } from '../../store/home.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Card } from '../../widgets/card.tsx';
import { Ago } from '../../widgets/time.tsx';
import { WithTitles } from '../../widgets/with-titles.tsx';
import { worktreeName } from '../../widgets/worktree-name.tsx';
import type { Task } from './tasks.ts';
import { sayJob, sayRun } from './words.ts';

export function TaskCard({ task }: { task: Task }) {
  const { id, run, job, place } = task;
  // Why it has halted is what counts then.
  const line = run?.status === 'halted' ? '' : plain(lastLine(job?.lastOutput ?? ''));
  const because = place === 'ended' ? undefined : (run?.because ?? (job?.status === 'queued' ? waits(job) : undefined));
  return (
    <Card
      href={run ? `/runs/${id}` : `/jobs/${id}`}
      title={plain(firstLine(run?.task ?? job?.task ?? id))}
      badge={<State task={task} />}
      foot={<Foot task={task} />}
    >
      {because && (
        <p class="because">
          <WithTitles text={firstLine(because)} />
        </p>
      )}
      {line && <p class="last-line">{line}</p>}
    </Card>
  );
}

function State({ task: { run, job, place } }: { task: Task }) {
  const said = run ? sayRun(run) : job && sayJob(job);
  if (!said) return null;
  return (
    <Badge tone={said.tone}>
      {place === 'working' && <Dot tone={said.tone} />}
      {said.text}
    </Badge>
  );
}

/** A run says it itself; a job alone waits with its worktree. */
function waits({ worktree }: NonNullable<Task['job']>): string | undefined {
  const queue = worktrees.value.find(({ id }) => id === worktree)?.queue;
  if (!queue) return undefined;
  const others = queue.waitsFor.map(({ worktreeId }) => worktreeId);
  return others.length > 0 ? `waits for ${others.join(', ')}` : 'waits for a free place';
}

function Foot({ task: { run, job, others } }: { task: Task }) {
  const worktree = run?.worktree ?? job?.worktree;
  const name = worktree ? worktreeName(worktree, run?.task ?? job?.task ?? '') : undefined;
  const endedAt = run ? run.endedAt : job?.endedAt;
  const at = endedAt ?? run?.createdAt ?? job?.createdAt;
  return (
    <>
      <span>{who(run?.block, job?.agent)}</span>
      {name !== undefined && <span class="worktree">{name}</span>}
      {job && <Figures job={job} />}
      {others > 0 && <span>{plural(others, run ? 'earlier job' : 'child job')}</span>}
      {at && <Ago at={at} words={endedAt ? 'ago' : ''} />}
    </>
  );
}

function Figures({ job: { usage } }: { job: NonNullable<Task['job']> }) {
  return (
    <>
      <span class="number">{tokens(usage)} tokens</span>
      <span class="number">{usage.costUsd === null ? 'cost unknown' : cost(usage.costUsd)}</span>
    </>
  );
}

/** With what an agent ends for its workflow, nobody is helped. */
const SIGNAL = /^\W*SIGNAL:\w+\W*$/;

function lastLine(text: string): string {
  return text.split('\n').findLast((line) => line.trim() !== '' && !SIGNAL.test(line)) ?? '';
}

function who(block: string | null | undefined, agent: string | undefined): string {
  return [agent && plain(agent), block && plain(blockName(block).name)].filter(Boolean).join(' · ') || 'workflow';
}
