import { capText } from '../../base/cap.ts';
import { printable } from '../../base/printable.ts';
import { codeQueries } from '../../protocol/code-operations.ts';
import type { JobView } from '../../protocol/job-operations.ts';
import type { OperationName, OperationOutput } from '../../protocol/operations.ts';
import { codeAnswer } from '../render/code.ts';
import { jobDetails, jobTable } from '../render/job.ts';
import { type Asked, questionsOf, renderQuestion } from '../render/question.ts';
import { runDetails, runTable } from '../render/run.ts';
import { createStyle, type Style } from '../render/style.ts';
import { renderEvents } from '../render/timeline.ts';
import { usageTable } from '../render/usage.ts';
import { acceptance, conflictReport, worktreeDiff, worktreeTable } from '../render/worktree.ts';

/** Even hexadecimal, at some two bytes per token, stays below 10,000 tokens. */
const MAX_BYTES = 20_000;

interface Reading {
  now: Date;
  /** Where to find the rest of a text that is cut. */
  rest: string;
}

/** The result as text, for models that do not read structured results. */
export function textOf<N extends OperationName>(
  operation: N,
  output: OperationOutput<N>,
  { now, rest }: Reading,
): string {
  const style = createStyle({ colour: false, width: 120, now });
  const text = WORDS[operation]?.(output, style) ?? JSON.stringify(output, null, 2);
  return capText(text, MAX_BYTES, rest);
}

/** Hints are written for people, who type commands; a model has the tools of the same names. */
export function asTools(text: string): string {
  return text
    .replaceAll(/\breef run show (\S+)(?: --follow)?/g, 'run_status {"id":"$1"}')
    .replaceAll(
      /\breef run (resume|retry|skip|abort|approve|hold|continue) (\w+)/g,
      'run_control {"id":"$2","verb":"$1"}',
    )
    .replaceAll(/\breef (?:ps|status)\b/g, 'status')
    .replaceAll(/\breef runs\b/g, 'run_status')
    .replaceAll(/\breef worktree list\b/g, 'worktrees')
    .replaceAll(/(?:--)(cursor|limit)\b/g, '$1')
    .replaceAll(/\breef (spawn|send|wait|kill|inbox|interrupt|resume|diff|accept|output|run)\b(?! ID --raw)/g, '$1');
}

/** Operations that are not listed are shown as JSON. */
const WORDS: { [N in OperationName]?: (output: OperationOutput<N>, style: Style) => string } = {
  spawn: ({ agentId, status }) => `Job ${agentId} is ${status}. Follow it with wait or output.`,
  status: ({ jobs }, style) => jobList(jobs, style),
  send: ({ agentId, status, delivered }) =>
    `${delivered ? 'The agent has received it' : 'Sent, but the agent has not confirmed it yet'}. Job ${agentId} is ${status}.`,
  output: ({ agentId, status, events, nextCursor, truncated }, style) =>
    [
      renderEvents(events, style),
      `Job ${agentId} is ${status}. ${truncated ? 'There is more' : 'There is no more yet'}: continue with since="${nextCursor}".`,
    ]
      .filter(Boolean)
      .join('\n'),
  kill: ({ agentId, status, finalOutput }) => `Job ${agentId} is ${status}.\n${printable(finalOutput)}`.trimEnd(),
  wait: ({ met, because, jobs }, style) => {
    const timeIsUp = 'The time is up, and none of it has happened yet: call wait again.';
    const never = because === undefined ? timeIsUp : `${because} What you wait for cannot happen unless somebody acts.`;
    return `${met ? '' : `${never}\n`}${jobList(jobs, style)}`;
  },
  interrupt: ({ agentId, status }) => `Job ${agentId} is ${status}.`,
  resume: ({ agentId, status, launch }) => `Job ${agentId} is ${status}, launch ${launch}.`,
  inbox: ({ questions }, style) =>
    questions.length === 0 ? 'No open questions.' : questions.map((each) => question(each, style)).join('\n\n'),
  usage: (used, style) => usageTable(used, style),
  run: (summary, style) => `${runDetails(summary, null, style)}\nFollow it with run_status.`,
  run_status: ({ runs, view }, style) => {
    const [only, another] = runs;
    return only && !another ? runDetails(only, view, style) : runTable(runs, style);
  },
  run_control: (summary, style) => runDetails(summary, null, style),
  block_result: () => 'The result has been accepted.',
  worktrees: ({ worktrees }, style) => worktreeTable(worktrees, style),
  diff: (diff, style) => worktreeDiff(diff, style),
  accept: (accepted, style) => acceptance(accepted, style),
  conflicts: (found, style) => conflictReport(found, style),
  repo_state: ({ text }) => text,
  artifact_read: ({ text, total, nextOffset }) =>
    nextOffset === undefined ? text : `${text}\n[continue with offset ${nextOffset} of ${total}]`,
  ...Object.fromEntries(
    codeQueries.map((name) => [name, (answer: never, style: Style) => codeAnswer(name, answer, style)]),
  ),
};

function jobList(jobs: readonly JobView[], style: Style): string {
  const [only, second] = jobs;
  if (!only) return 'No jobs.';
  if (!second) return jobDetails({ ...only, questions: [] }, style) + asked(only, style);
  return jobTable(jobs, style) + jobs.map((job) => asked(job, style)).join('');
}

function asked(job: JobView, style: Style): string {
  return questionsOf(job)
    .map((each) => `\n\n${question(each, style)}`)
    .join('');
}

function question(asked: Asked, style: Style): string {
  return renderQuestion(asked, style, [`send ${JSON.stringify(answerOf(asked))}`]);
}

/** The arguments of `send`, for the model to fill in. */
function answerOf({ jobId: id, questionId, fingerprint, kind, options, cut }: Asked): Record<string, unknown> {
  if (kind === 'permission') return { id, questionId, fingerprint, decision: cut ? 'deny' : 'allow_once | deny' };
  return options && options.length > 0 ? { id, questionId, option: [1] } : { id, questionId, text: '…' };
}
