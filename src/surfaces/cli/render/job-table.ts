import type { JobView } from '../../../protocol/job-operations.ts';
import { type Cell, table } from './columns.ts';
import { cost, duration, tokens } from './quantities.ts';
import { shortAgent } from './short-agent.ts';
import { shortIds } from './short-id.ts';
import type { Colour, Style } from './style.ts';

const LONGEST_AGENT = 24;
const COLOURS: Partial<Record<JobView['status'], Colour>> = {
  running: 'green',
  awaiting_input: 'yellow',
  paused: 'yellow',
  error: 'red',
  stale: 'red',
  killed: 'dim',
  completed: 'dim',
};

export function jobTable(jobs: readonly JobView[], style: Style): string {
  const short = shortIds(jobs.map(({ id }) => id));
  const titles = ['ID', 'AGENT', 'STATUS', 'AGE', 'TOKENS', 'COST', 'TASK'];
  const heading: Cell[] = titles.map((text) => ({ text, paint: (plain) => style.paint('dim', plain) }));
  const rows = jobs.map((job): Cell[] => [
    { text: `${job.depth > 0 ? '└'.repeat(Math.min(job.depth, 4)) : ''}${short(job.id)}` },
    { text: agentName(job.agent) },
    { text: statusWords(job), paint: (plain) => style.paint(COLOURS[job.status] ?? 'bold', plain) },
    { text: age(job, style.now) },
    { text: tokens(job.usage) },
    { text: cost(job.usage) },
    { text: job.questions[0] ? `? ${job.questions[0].question}` : job.task },
  ]);
  return table([heading, ...rows], style.width);
}

function agentName(agent: string): string {
  const short = shortAgent(agent);
  return short.length > LONGEST_AGENT ? `${short.slice(0, LONGEST_AGENT - 1)}…` : short;
}

/** The stored status, and what is going on where that says more. */
export function statusWords({ status, activity, reason, questions }: JobView): string {
  if (status === 'awaiting_input') return questions.length > 1 ? `asks (${questions.length})` : 'asks';
  if (status === 'running') return activity;
  return reason ? `${status} (${reason})` : status;
}

/** How long it runs or ran; what has ended says how long ago. */
export function age({ createdAt, endedAt }: JobView, now: Date): string {
  const since = Date.parse(endedAt ?? createdAt);
  const text = duration(now.getTime() - since);
  return endedAt ? `${text} ago` : text;
}
