import { printable } from '../../../base/printable.ts';
import type { JobView } from '../../../protocol/job-operations.ts';
import { age, statusWords } from './job-table.ts';
import { cost, duration, tokens } from './quantities.ts';
import { renderQuestion } from './question.ts';
import type { Style } from './style.ts';

export function jobDetails(job: JobView, style: Style): string {
  const rows: [string, string | undefined][] = [
    ['job', job.id],
    ['status', `${statusWords(job)}, ${age(job, style.now)}`],
    ['agent', [job.agent, job.agentVersion, job.model].filter(Boolean).join(' ')],
    ['task', job.task],
    ['folder', job.cwd],
    ['sandbox', job.sandbox],
    ['session', job.sessionId],
    ['parent', job.parentId],
    ['worked', `${duration(job.workedMs)} in ${job.turns} turns, launch ${job.launch}`],
    ['tokens', `${tokens(job.usage)}, ${cost(job.usage)}`],
    ['budget', budget(job)],
    ['resumes', job.resumeAt],
    ['exit', job.signal ?? job.exitCode?.toString()],
    ['unknown', job.unknownMessages > 0 ? `${job.unknownMessages} messages of a kind Reef does not know` : undefined],
    ['last', job.lastOutput || undefined],
  ];
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [row(name, value, style)]));
  const questions = job.questions.map((question) =>
    renderQuestion({ ...question, jobId: job.id, agent: job.agent, task: job.task, cwd: job.cwd }, style),
  );
  return [lines.join('\n'), ...questions].join('\n\n');
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
