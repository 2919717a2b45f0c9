import { z } from 'zod';
import { operation } from './operation.ts';
import { repoStateSchema } from './repostate.ts';

/** An agent is answered about its own worktree only. */
const worktree = z
  .string()
  .min(1)
  .max(4_096)
  .optional()
  .describe('Worktree by title, id or path; default: your own worktree, or for people the main checkout');

const repo_state = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/state' },
  summary: 'The current state of a worktree: changed files, runs, checks, open tasks, notes.',
  input: z.strictObject({ worktree, section: z.enum(['all', 'files', 'tasks', 'runs', 'diff']).default('all') }),
  output: z.strictObject({ text: z.string(), state: repoStateSchema }),
});

const artifact_read = operation({
  effect: 'reads',
  rest: { method: 'GET', path: '/v1/artifacts/:id' },
  summary: 'Read text that was cut from a prompt: a:<hash>, t<n> for an earlier turn, or <job>/t<n>.',
  input: z.strictObject({
    id: z.string().min(1).max(200),
    job: z.string().min(1).max(64).optional().describe('For people: the job that made it; default: the newest job'),
    offset: z.number().int().min(0).optional(),
    limit: z.number().int().min(1).max(6_000).optional(),
    grep: z.string().min(1).max(1_000).optional().describe('Only lines that contain this text'),
  }),
  output: z.strictObject({
    id: z.string(),
    text: z.string(),
    offset: z.number().int(),
    total: z.number().int(),
    nextOffset: z.number().int().optional(),
  }),
});

const todo = operation({
  effect: 'settles',
  for: ['job'],
  noRest: 'only the agent of a job calls it',
  summary:
    'Your plan, kept with the worktree. set: items; add, note: text; start, complete: id; drop: id and reason; list.',
  input: z.strictObject({
    op: z.enum(['list', 'set', 'add', 'start', 'complete', 'drop', 'note']),
    items: z.array(z.string()).max(10).optional(),
    text: z.string().max(1_000).optional(),
    id: z.string().max(20).optional(),
    reason: z.string().max(1_000).optional(),
  }),
  output: z.strictObject({ tasks: repoStateSchema.shape.openTasks }),
});

const context_calls = operation({
  effect: 'reads',
  noTool: 'for people who look into prompts',
  rest: { method: 'GET', path: '/v1/jobs/:id/prompts' },
  summary: 'Show what each prompt of a native job consisted of: segments with their tokens, cache and cost.',
  input: z.strictObject({ id: z.string().min(1).max(64) }),
  output: z.strictObject({
    jobId: z.string(),
    calls: z.array(z.record(z.string(), z.unknown())),
    /** How often it fetched what had left the prompt: artifacts, and files it had read the same way before. */
    reads: z.strictObject({ artifacts: z.number().int(), again: z.number().int() }),
  }),
});

export const stateOperations = { repo_state, artifact_read, todo, context_calls };
