import { z } from 'zod';
import { baseGates } from './base-gates.ts';
import { operation, PEOPLE_AND_CLIENTS } from './operation.ts';
import {
  acceptedSchema,
  acceptOptionsSchema,
  clashSchema,
  commentSchema,
  conflictReportSchema,
  diffSchema,
  judgedGateSchema,
  judgedTreeSchema,
  keptSchema,
  openedSchema,
  planSchema,
  pruneReportSchema,
  pullRequestOptionsSchema,
  pushedSchema,
  pushOptionsSchema,
  taskName,
  updatedSchema,
  worktreeRecordSchema,
  worktreeViewSchema,
} from './worktrees.ts';

const text = z.string();
const oid = z.string();
const id = taskName.describe('Worktree by id, title or path; @last is the newest');

const review = operation({
  effect: 'acts',
  for: ['person'],
  noTool: 'a review is what a person says about the work of agents',
  rest: { method: 'POST', path: '/v1/worktrees/:worktree/review' },
  summary: 'Send comments on lines of a worktree to its agent, as one message: it works on, or begins again with them.',
  input: z.strictObject({
    worktree: id,
    base: oid.optional().describe('The commit it was compared with; another one now is refused'),
    comments: z.array(commentSchema).max(500).default([]),
    text: z.string().min(1).max(65_536).optional().describe('About all of it'),
    verdict: z.enum(['changes', 'ok']).default('changes').describe('ok: also approves a run that asks for approval'),
    key: z.string().min(1).max(200).optional().describe('Repeating a call with the same key sends nothing again'),
  }),
  output: z.strictObject({
    /** `delivered` to an agent at work, `resumed` a job that rested, `retried` or `approved` its run. */
    how: z.enum(['delivered', 'resumed', 'retried', 'approved']),
    agentId: text.exactOptional(),
    runId: text.exactOptional(),
    /** What the agent is told. */
    message: text,
  }),
});

export const worktreeOperations = {
  review,
  worktrees: operation({
    effect: 'reads',
    for: PEOPLE_AND_CLIENTS,
    rest: { method: 'GET', path: '/v1/worktrees' },
    summary: 'List the worktrees with their health, overlaps and place in the queue.',
    input: z.strictObject({ all: z.boolean().default(false).describe('Also those that have ended') }),
    output: z.strictObject({ worktrees: z.array(worktreeViewSchema) }),
  }),
  worktree_create: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'make one with spawn or run',
    rest: { method: 'POST', path: '/v1/worktrees' },
    summary: 'Make a worktree for a task, or queue it while its plan clashes with another.',
    input: z.strictObject({
      taskId: z
        .string()
        .min(1)
        .max(200)
        .exactOptional()
        .describe('Repeating a call with the same task id makes no second worktree'),
      title: z.string().min(1).max(1_000),
      plan: planSchema,
      base: z
        .string()
        .min(1)
        .max(1_000)
        .exactOptional()
        .describe('Branch or commit to start from; default: the current branch'),
      cwd: z.string().min(1).max(4_096).exactOptional().describe('Checkout to start from; default: the main one'),
      priority: z.number().int().min(1).max(1_000).exactOptional().describe('Place in the queue; 1 goes first'),
      anyway: z.boolean().default(false).describe('Do not wait for tasks with clashing plans'),
    }),
    output: worktreeRecordSchema,
  }),
  worktree_setup: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'a repair for people at a terminal',
    rest: { method: 'POST', path: '/v1/worktrees/:id/setup' },
    summary: 'Run the set-up command of a worktree again.',
    input: z.strictObject({ id }),
    output: worktreeViewSchema,
  }),
  worktree_gates: operation({
    effect: 'acts',
    for: PEOPLE_AND_CLIENTS,
    rest: { method: 'POST', path: '/v1/worktrees/:id/gates' },
    summary: 'Run the gates that have not judged the present files of a worktree, in a fresh checkout of them.',
    input: z.strictObject({ id }),
    output: judgedTreeSchema,
  }),
  base_gates: baseGates,
  worktree_update: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'merge and resolve at a terminal, or let an agent do it with run_control',
    rest: { method: 'POST', path: '/v1/worktrees/:id/update' },
    summary:
      'Bring the target branch into a worktree; conflicts are marked, or resolved by an agent that the gates judge.',
    input: z.strictObject({
      id,
      into: z.string().min(1).max(1_000).exactOptional(),
      agent: z.string().min(1).max(200).exactOptional().describe('Resolves what conflicts'),
    }),
    output: updatedSchema.extend({
      /** The run that resolves the conflicts. */
      runId: text.exactOptional(),
      gates: z.array(judgedGateSchema).exactOptional(),
    }),
  }),
  diff: operation({
    effect: 'reads',
    rest: { method: 'GET', path: '/v1/worktrees/:id/diff' },
    summary: 'Show what a worktree changes, compared with its base.',
    input: z.strictObject({ id }),
    output: diffSchema,
  }),
  accept: operation({
    effect: 'acts',
    for: PEOPLE_AND_CLIENTS,
    rest: { method: 'POST', path: '/v1/worktrees/:id/accept' },
    summary: 'Merge a worktree into its target branch. A checkout with uncommitted changes is not touched.',
    input: acceptOptionsSchema.extend({ id }),
    output: acceptedSchema,
  }),
  worktree_push: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'what leaves this machine is sent by people',
    rest: { method: 'POST', path: '/v1/worktrees/:id/push' },
    summary: 'Push the work of a worktree to a branch of its own at a remote, as one commit.',
    input: pushOptionsSchema.extend({ id }),
    output: pushedSchema,
  }),
  worktree_pr: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'what leaves this machine is sent by people',
    rest: { method: 'POST', path: '/v1/worktrees/:id/pr' },
    summary: "Push a worktree and open a pull request with the forge's own command line, or look at the one it has.",
    input: pullRequestOptionsSchema.extend({ id }),
    output: openedSchema,
  }),
  worktree_shell: operation({
    effect: 'acts',
    for: ['person'],
    noTool: 'a shell is for a person at a terminal',
    noRest: 'it names a program to start, for a terminal on this machine',
    summary: 'Say how a person opens a shell in a worktree: in its sandbox, if agents worked there in one.',
    input: z.strictObject({ id }),
    output: z.strictObject({
      path: text,
      isSandboxed: z.boolean(),
      /** What starts the shell; of `sh`, the first is the program. */
      command: z.array(text),
      /** In a sandbox all of its environment; elsewhere what comes on top of the person's own. */
      env: z.record(z.string(), text),
    }),
  }),
  worktree_discard: operation({
    effect: 'ends',
    for: ['person'],
    noTool: 'it removes work: for people at a terminal',
    rest: { method: 'DELETE', path: '/v1/worktrees/:id' },
    summary: 'Remove a worktree. Its work is kept on a git ref.',
    input: z.strictObject({ id }),
    output: keptSchema,
  }),
  worktree_restore: operation({
    effect: 'settles',
    for: ['person'],
    noTool: 'undoes what only people do',
    rest: { method: 'POST', path: '/v1/worktrees/restore' },
    summary: 'Bring back a worktree that was discarded, held or lost.',
    input: z.strictObject({ ref: z.string().min(1).max(1_000).describe('refs/reef/discarded/<id>, or a worktree id') }),
    output: worktreeRecordSchema,
  }),
  worktree_hold: operation({
    effect: 'ends',
    for: ['person'],
    noTool: 'it removes a folder: for people at a terminal',
    rest: { method: 'POST', path: '/v1/worktrees/:id/hold' },
    summary: 'Put a worktree aside with its session. worktree_restore brings it back.',
    input: z.strictObject({ id }),
    output: keptSchema,
  }),
  worktree_prune: operation({
    effect: 'ends',
    for: ['person'],
    noTool: 'it removes work: for people at a terminal',
    rest: { method: 'POST', path: '/v1/worktrees/prune' },
    summary: 'Show which leftover worktrees could be removed, with size, age and reason; with yes, remove them.',
    input: z.strictObject({ yes: z.boolean().default(false) }),
    output: pruneReportSchema,
  }),
  conflicts: operation({
    effect: 'reads',
    rest: { method: 'GET', path: '/v1/conflicts' },
    summary:
      'List which worktrees overlap with a plan or with each other: hot (same lines), soft (same file), hop (related files).',
    input: z.strictObject({ plan: planSchema }),
    output: z.strictObject({
      report: conflictReportSchema.describe('For the given plan'),
      worktrees: z.array(z.strictObject({ id: text, clashes: z.array(clashSchema) })),
    }),
  }),
};
