import { z } from 'zod';
import { eventPageSchema, jobId, MAX_WAIT_MS } from './job-operations.ts';
import { usageSchema } from './jobs.ts';
import { operation, PEOPLE_AND_CLIENTS } from './operation.ts';

const text = z.string();
const count = z.number().int().nonnegative();

const usageSumSchema = usageSchema.extend({
  jobs: count,
  /** Of these jobs, those that used tokens and report no cost: `costUsd` is without them. */
  unpriced: count,
});
export type UsageSum = z.infer<typeof usageSumSchema>;

const usage = operation({
  effect: 'reads',
  for: PEOPLE_AND_CLIENTS,
  rest: { method: 'GET', path: '/v1/usage' },
  summary: 'Sum up tokens and cost of all jobs: by agent, by model, by the day on which a job was started, or by run.',
  input: z.strictObject({
    by: z.enum(['agent', 'model', 'day', 'run']).default('agent'),
    since: text.max(64).optional().describe('Only jobs that were started at this ISO-8601 time or later'),
    limit: z.number().int().min(1).max(1_000).default(100),
  }),
  output: z.strictObject({
    /** Days newest first; everything else by tokens, most first. */
    rows: z.array(
      usageSumSchema.extend({
        /** Empty: a model that nobody named, or jobs of no run. */
        key: text,
        /** Of a run, its task. */
        title: text.exactOptional(),
      }),
    ),
    /** Of all rows, also of those that `limit` left out. */
    totals: usageSumSchema,
    leftOut: count,
  }),
});

const job_log = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'bytes as the agent wrote them are for people; output has what they mean',
  rest: { method: 'GET', path: '/v1/jobs/:id/log' },
  summary: 'Read what the process of a job itself wrote, by range of bytes. Secrets are replaced by a mark.',
  input: z.strictObject({
    id: jobId,
    stream: z.enum(['out', 'err']).default('out'),
    launch: count.optional().describe('Default: the newest one'),
    from: z.number().int().default(0).describe('First byte; negative: counted from the end'),
    bytes: z.number().int().min(1).max(262_144).default(65_536),
  }),
  output: z.strictObject({
    agentId: text,
    /** All launches that left something, oldest first, and the one this is of. */
    launches: z.array(count),
    launch: count,
    text,
    /** `base64` where the bytes are no UTF-8. */
    encoding: z.enum(['utf8', 'base64']),
    /** Where the text begins and where to read on: no character and no secret is cut in two. */
    from: count,
    next: count,
    size: count,
  }),
});
export type JobLog = z.infer<typeof job_log.output>;

const events = operation({
  effect: 'reads',
  for: ['person'],
  noTool: 'output has the events of one job',
  rest: { method: 'GET', path: '/v1/events/page' },
  summary: 'Read the events of all jobs in the order they happened, starting after a cursor.',
  input: z.strictObject({
    since: text.max(64).optional().describe('A nextCursor, or an ISO-8601 time'),
    limit: z.number().int().min(1).max(1_000).default(200),
    waitMs: z.number().int().min(0).max(MAX_WAIT_MS).default(0).describe('Wait up to this long for a first event'),
  }),
  output: eventPageSchema.extend({
    /** What the cursor asked for and is no longer kept. */
    gap: z.strictObject({ from: count, to: count }).exactOptional(),
  }),
});

const prune = operation({
  effect: 'ends',
  for: ['person'],
  noTool: 'it removes what is recorded of old tasks: for people at a terminal',
  rest: { method: 'POST', path: '/v1/prune' },
  summary:
    'Remove what the home keeps of tasks that ended long ago, or above its size, the oldest first; the daemon does it every hour.',
  input: z.strictObject({ dryRun: z.boolean().default(false) }),
  output: z.strictObject({
    /** What goes, or would go: at most 1,000 of them. */
    entries: z.array(
      z.strictObject({
        id: text,
        kind: z.enum(['run', 'job']),
        title: text,
        endedAt: text,
        bytes: count,
        reason: z.enum(['age', 'size']),
        outcome: z.enum(['would_remove', 'removed']),
      }),
    ),
    leftOut: count,
    /** Of the whole home, afterwards. */
    bytes: count,
    limits: z.strictObject({ days: count, bytes: count }),
  }),
});
export type HomePruning = z.infer<typeof prune.output>;

/** What is recorded of all jobs. */
export const recordOperations = { usage, job_log, events, prune };
