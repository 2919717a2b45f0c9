import { z } from 'zod';
import { capJson, capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import { cursorBeside } from '../../events/event-log.ts';
import type { JobView } from '../../protocol/job-operations.ts';
import { jobStatusSchema, questionSchema } from '../../protocol/jobs.ts';
import type { Operation } from '../../protocol/operation.ts';
import { type OperationName, type OperationOutput, operations } from '../../protocol/operations.ts';
import { type RunSummary, runSummarySchema } from '../../protocol/run-operations.ts';
import { type GateView, gateViewSchema, haltVerbSchema, type RunView } from '../../protocol/workflow.ts';
import { BOOKKEEPING } from '../render/timeline.ts';

/** Results of tools go whole into the window of a model: what it needs to go on, not the record of the store. */

const text = z.string();

/** In bytes: of one thing that was asked for, and of each in a list. */
const ALONE = { task: 1_000, said: 4_000 };
const LISTED = { task: 60, said: 60 };
type Sizes = typeof ALONE;
const EVENT_BYTES = 2_000;
const PAGE_BYTES = 16_000;
const EXCERPT_BYTES = 2_000;

const jobSchema = z.strictObject({
  id: text,
  agent: text,
  task: text,
  status: jobStatusSchema,
  reason: text.optional(),
  resumeAt: text.optional(),
  goesOnAt: text.optional(),
  worktree: text.optional(),
  behind: z.array(text).optional(),
  awaiting_input: z.literal(true).optional(),
  /** Whole: nobody may decide about a question that was cut. */
  questions: z.array(questionSchema).optional(),
  lastOutput: text.optional(),
  exitCode: z.number().optional(),
  tokens: z.strictObject({ input: z.number(), output: z.number(), costUsd: z.number().nullable() }).optional(),
});

function slimJob(job: JobView, sizes: Sizes): z.infer<typeof jobSchema> {
  const { id, agent, task, status, reason, questions, lastOutput, exitCode, usage } = job;
  const { resumeAt, goesOnAt, worktree, behind } = job;
  const { input, output, costUsd } = usage;
  return {
    id,
    agent,
    task: capText(task, sizes.task),
    status,
    ...defined({ reason, resumeAt, goesOnAt, worktree, behind }),
    ...(questions.length > 0 && { awaiting_input: true as const, questions }),
    ...(lastOutput !== '' && { lastOutput: capText(lastOutput, sizes.said, 'output') }),
    ...(exitCode !== undefined && exitCode !== 0 && { exitCode }),
    ...(sizes === ALONE && { tokens: { input, output, costUsd } }),
  };
}

const runSchema = runSummarySchema.omit({ workflow: true, parentId: true, createdAt: true, endedAt: true }).partial({
  worktree: true,
  path: true,
  block: true,
  visit: true,
});

function slimRun(run: RunSummary, sizes: Sizes): z.infer<typeof runSchema> {
  const { workflow: _, parentId: _parent, createdAt: _created, endedAt: _ended, ...rest } = run;
  const { runId, status, because, block } = run;
  const about = defined({ because: because && capText(because, sizes.said) });
  if (sizes === ALONE) return { ...rest, ...about, task: capText(run.task, sizes.task) };
  return { runId, status, task: capText(run.task, sizes.task), ...about, ...(block !== null && { block }) };
}

const viewSchema = z.strictObject({
  outcome: text,
  seq: z.number(),
  path: z.array(text).describe('Every visit of a block, with what it came to'),
  gates: z.array(gateViewSchema.pick({ gate: true, result: true })).describe('The last result of each'),
  halts: z.array(
    z.strictObject({
      block: text,
      visit: z.number(),
      message: text,
      options: z.array(haltVerbSchema),
      excerpt: text.optional(),
    }),
  ),
  tokens: z.number(),
});

function slimView(view: RunView): z.infer<typeof viewSchema> {
  const last = new Map(view.gates.map((gate: GateView) => [gate.gate, gate]));
  return {
    outcome: view.outcome,
    seq: view.seq,
    path: Object.entries(view.executionLog).map(
      ([key, { signal, status }]) => `${key} ${signal?.replace(/^SIGNAL:/, '') ?? status}`,
    ),
    gates: [...last.values()].map(({ gate, result }) => ({ gate, result })),
    halts: view.halts.map(({ block, visit, message, options, excerpt }) => ({
      block,
      visit,
      message,
      options,
      ...(excerpt !== undefined && { excerpt: excerpt.slice(-EXCERPT_BYTES) }),
    })),
    tokens: view.budget.spent.tokens,
  };
}

type Page = OperationOutput<'output'>;
const pageSchema = operations.output.output.extend({
  events: z.array(z.strictObject({ seq: z.number(), type: text, payload: z.record(text, z.unknown()) })),
});

/** As many events as fit, at least one. The cursor names the last of them, so the next call continues there. */
function slimPage(page: Page): z.infer<typeof pageSchema> {
  const told = page.events.filter(({ payload }) => !BOOKKEEPING.has(String(payload.kind)));
  const slim = told.map(({ seq, type, payload }) => ({ seq, type, payload: slimPayload(type, payload) }));
  let size = 0;
  const kept = slim.findIndex((event) => {
    size += Buffer.byteLength(JSON.stringify(event));
    return size > PAGE_BYTES;
  });
  const events = kept === -1 ? slim : slim.slice(0, Math.max(1, kept));
  const last = events.at(-1);
  if (!last || events.length === slim.length) return { ...page, events };
  return { ...page, events, nextCursor: cursorBeside(page.nextCursor, last.seq), truncated: true };
}

function slimPayload(type: string, payload: Record<string, unknown>): Record<string, unknown> {
  if (type === 'needs_input') return payload;
  const { command: _, ...rest } = payload;
  return capJson(type === 'started' ? rest : payload, EVENT_BYTES, 'reef output');
}

const sizesOf = (list: readonly unknown[]) => (list.length > 1 ? LISTED : ALONE);
const jobs = (list: readonly JobView[]) => list.map((job) => slimJob(job, sizesOf(list)));
const runs = (list: readonly RunSummary[]) => list.map((run) => slimRun(run, sizesOf(list)));
const jobLists = { jobs: z.array(jobSchema), runs: z.array(runSchema).optional() };

interface Slim<N extends OperationName> {
  schema: z.ZodType;
  of(output: OperationOutput<N>): Record<string, unknown>;
}

const SLIM: { [N in OperationName]?: Slim<N> } = {
  status: {
    schema: z.strictObject(jobLists),
    of: (given) => ({ jobs: jobs(given.jobs), ...(given.runs && { runs: runs(given.runs) }) }),
  },
  wait: {
    schema: operations.wait.output.extend(jobLists),
    of: (given) => ({ ...given, jobs: jobs(given.jobs), ...(given.runs && { runs: runs(given.runs) }) }),
  },
  output: { schema: pageSchema, of: slimPage },
  diff: {
    schema: operations.diff.output.omit({ tree: true, gates: true }),
    of: ({ tree: _, gates: _gates, ...rest }) => rest,
  },
  run: { schema: runSchema, of: (run) => slimRun(run, ALONE) },
  run_control: { schema: runSchema, of: (run) => slimRun(run, ALONE) },
  run_status: {
    schema: z.strictObject({ runs: z.array(runSchema), view: viewSchema.nullable() }),
    of: (given) => ({ runs: runs(given.runs), view: given.view && slimView(given.view) }),
  },
};

/** What a tool says it returns. */
export function resultSchema(name: OperationName): z.ZodType {
  return SLIM[name]?.schema ?? (operations[name] as Operation).output;
}

export function slimResult<N extends OperationName>(name: N, output: OperationOutput<N>): Record<string, unknown> {
  return SLIM[name]?.of(output) ?? output;
}
