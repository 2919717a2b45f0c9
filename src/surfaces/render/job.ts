import { shellKeyWords } from '../../agents/shell-keys.ts';
import { printable } from '../../base/printable.ts';
import { timeOfDay } from '../../base/time-of-day.ts';
import type { JobView } from '../../protocol/job-operations.ts';
import { type Cell, heading, table } from './columns.ts';
import { nextLines, stateOfJob } from './next-steps.ts';
import { cost, duration, tokens } from './quantities.ts';
import { questionsOf, renderQuestion } from './question.ts';
import { sandboxShort, sandboxWords } from './sandbox.ts';
import { shortAgent, shortIds } from './short-names.ts';
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
  // The usual needs no column: a person should see at once where there is no sandbox.
  const isUsual = jobs.every(({ sandbox }) => sandbox === 'bubblewrap');
  const wall = isUsual ? [] : ['SANDBOX'];
  const titles = heading(['ID', 'AGENT', 'STATUS', ...wall, 'AGE', 'TOKENS', 'COST', 'TASK'], style);
  const rows = jobs.map((job): Cell[] => [
    { text: `${job.depth > 0 ? '└'.repeat(Math.min(job.depth, 4)) : ''}${short(job.id)}` },
    { text: job.shellKeys ? `${agentName(job.agent)} (shell key)` : agentName(job.agent) },
    { text: statusWords(job, style.now, jobs), paint: (plain) => style.paint(COLOURS[job.status] ?? 'bold', plain) },
    ...wall.map(() => ({ text: sandboxShort(job.sandbox) })),
    { text: age(job, style.now) },
    { text: tokens(job.usage) },
    { text: cost(job.usage) },
    { text: job.questions[0] ? `? ${job.questions[0].question}` : job.task },
  ]);
  return table([titles, ...rows], style.width);
}

function agentName(agent: string): string {
  const short = shortAgent(agent);
  return short.length > LONGEST_AGENT ? `${short.slice(0, LONGEST_AGENT - 1)}…` : short;
}

/** The stored status, or what is going on where that says more. */
function statusWords(job: JobView, now: Date, all: readonly JobView[] = []): string {
  const { status, activity, reason, questions, goesOnAt } = job;
  if (status === 'awaiting_input') return questions.length > 1 ? `asks (${questions.length})` : 'asks';
  if (status === 'running') return activity;
  if (goesOnAt !== undefined) return `${status} (${reason}, goes on at ${timeOfDay(new Date(goesOnAt), now)})`;
  const queued = all.filter((each) => each.status === 'queued');
  if (status === 'queued' && queued.length > 1) return `${status} (place ${placeOf(job, queued)})`;
  return reason ? `${status} (${reason})` : status;
}

/** The oldest goes first. */
function placeOf({ id }: JobView, queued: readonly JobView[]): number {
  return queued.filter((other) => other.id < id).length + 1;
}

/** How long the job has been running, or how long ago it ended. */
function age({ createdAt, endedAt }: JobView, now: Date): string {
  const since = Date.parse(endedAt ?? createdAt);
  const text = duration(now.getTime() - since);
  return endedAt ? `${text} ago` : text;
}

export function jobDetails(job: JobView, style: Style): string {
  const rows: [string, string | undefined][] = [
    ['job', job.id],
    ['status', `${statusWords(job, style.now)}, ${age(job, style.now)}`],
    ['agent', [job.agent, job.agentVersion, job.model].filter(Boolean).join(' ')],
    ['key', shellKeyWords(job.shellKeys)],
    ['task', job.task],
    ['folder', job.cwd],
    ['sandbox', sandboxWords(job.sandbox)],
    ['session', job.sessionId],
    ['parent', job.parentId],
    ['worked', `${duration(job.workedMs)} in ${job.turns} turns, launch ${job.launch}`],
    ['tokens', `${tokens(job.usage)}, ${cost(job.usage)}`],
    ['budget', budget(job)],
    ['resumes', job.goesOnAt ?? job.resumeAt],
    ['exit', job.signal ?? job.exitCode?.toString()],
    ['unknown', job.unknownMessages > 0 ? `${job.unknownMessages} messages of a kind Reef does not know` : undefined],
    ['last', job.lastOutput || undefined],
  ];
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [row(name, value, style)]));
  const questions = questionsOf(job).map((question) => renderQuestion(question, style));
  const next = questions.length > 0 ? [] : [nextLines(stateOfJob(job), job.id, job.behind).join('\n')];
  return [lines.join('\n'), ...questions, ...next].join('\n\n');
}

function row(name: string, value: string, { paint }: Style): string {
  const [first = '', ...rest] = printable(value).trimEnd().split('\n');
  return [`${paint('dim', name.padEnd(8))} ${first}`, ...rest.map((line) => `${' '.repeat(9)}${line}`)].join('\n');
}

function budget({ budget: { tokens: most, turns, seconds } }: JobView): string | undefined {
  const parts = [
    most === undefined ? '' : `${most} tokens`,
    turns === undefined ? '' : `${turns} turns`,
    seconds === undefined ? '' : duration(seconds * 1_000),
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(', ') : undefined;
}
