import { z } from 'zod';
import { comparedFailuresSchema } from './workflow.ts';

const text = z.string();
const count = z.number().int().nonnegative();
const oid = z.string();

const worktreeStatusSchema = z.enum([
  'queued',
  'creating',
  'running',
  'held',
  'accepting',
  'accepted',
  'discarded',
  'lost',
]);
export type WorktreeStatus = z.infer<typeof worktreeStatusSchema>;

/** A repository-relative path or glob, and who named it: the task, the agent, or git. */
export const planEntrySchema = z.strictObject({
  path: text,
  origin: z.enum(['declared', 'discovered', 'observed']),
});
export type PlanEntry = z.infer<typeof planEntrySchema>;

export const worktreeRecordSchema = z.strictObject({
  id: text,
  taskId: text,
  /** Null while there is no folder: queued, held, discarded, lost. */
  path: text.nullable(),
  branch: text,
  /** The branch is empty when the worktree was made from a commit; accept then needs a target. */
  base: z.strictObject({ branch: text, commit: oid }),
  changePlan: z.array(planEntrySchema),
  /** The first of ten; 0 until the worktree is made. */
  portBase: count,
  priority: z.number().int().exactOptional(),
  /** Submodules that its set-up left empty: git fills none in a new worktree. */
  submodules: z.array(text).exactOptional(),
  status: worktreeStatusSchema,
});
export type WorktreeRecord = z.infer<typeof worktreeRecordSchema>;

const clashTierSchema = z.enum(['hot', 'soft', 'hop', 'unknown']);
export const clashSchema = z.strictObject({
  /** The path, for a checkout that is not Reef's. */
  worktreeId: text,
  tier: clashTierSchema,
  files: z.array(z.strictObject({ path: text, lines: z.array(z.tuple([count, count], count)).exactOptional() })),
});
export type Clash = z.infer<typeof clashSchema>;

export const conflictReportSchema = z.strictObject({
  /** CLASH with any hot, soft or hop. CLEAR is certain only if the report is complete. */
  status: z.enum(['CLEAR', 'CLASH']),
  complete: z.boolean(),
  clashes: z.array(clashSchema),
  /** Paths that were not added to the plan. */
  refused: z.array(z.strictObject({ path: text, why: text })).exactOptional(),
  /** Why the report is not complete. */
  problems: z.array(text).exactOptional(),
});
export type ConflictReport = z.infer<typeof conflictReportSchema>;

const driftSchema = z.strictObject({
  /** Changed but neither declared nor discovered. */
  unplanned: z.array(text),
  /** Planned but not changed. */
  untouched: z.array(text),
});
export type Drift = z.infer<typeof driftSchema>;

const mergeStrategySchema = z.enum(['squash', 'merge', 'ff']);
export type MergeStrategy = z.infer<typeof mergeStrategySchema>;

const pendingSchema = z.strictObject({
  commit: oid,
  ref: text,
  target: text,
  /** The checkout that has work in it, and the files in the way. */
  checkout: text,
  files: z.array(text),
  /** Whether it completes by itself when the checkout is clean. */
  whenClean: z.boolean(),
});
export type PendingMerge = z.infer<typeof pendingSchema>;

const checkResultSchema = z.enum(['passed', 'failed', 'pending']);
const pullRequestSchema = z.strictObject({
  /** The command line of the forge that was asked. */
  program: z.enum(['gh', 'glab']),
  number: z.number().int(),
  url: text,
  state: z.enum(['open', 'merged', 'closed']),
  checks: z.array(z.strictObject({ name: text, result: checkResultSchema, url: text.exactOptional() })),
  review: z.enum(['approved', 'changes_requested']).exactOptional(),
  /** When the forge said so. */
  at: text,
});
export type PullRequest = z.infer<typeof pullRequestSchema>;

export const judgedGateSchema = z.strictObject({
  gate: text,
  result: z.enum(['passed', 'failed', 'waived', 'not_configured']),
  /** It did not run: it had passed on the very same files before. */
  reused: z.literal(true).exactOptional(),
  /** False: it is shown and does not stop a merge. */
  blocks: z.literal(false).exactOptional(),
  /** Of a failure, where something of it was there before the change. */
  compared: comparedFailuresSchema.exactOptional(),
  /** The last lines of a gate that failed. */
  log: text.exactOptional(),
});
export type JudgedGate = z.infer<typeof judgedGateSchema>;
export const gateStandingSchema = judgedGateSchema.pick({ gate: true, blocks: true }).extend({
  result: z.enum(['passed', 'failed', 'waived', 'not_run', 'not_configured']),
  /** The files it judged last, which are not always the present ones. */
  tree: oid.exactOptional(),
});
export type GateStanding = z.infer<typeof gateStandingSchema>;

export const worktreeViewSchema = worktreeRecordSchema.extend({
  title: text,
  createdAt: text,
  /** A job or a run is at work in it, or about to be. */
  atWork: z.literal(true).exactOptional(),
  health: z.enum(['GREEN', 'AMBER', 'RED']).nullable(),
  overlap: z.array(clashSchema),
  queue: z
    .strictObject({
      place: count,
      /** Empty when it waits for a free slot. */
      waitsFor: z.array(z.strictObject({ worktreeId: text, status: worktreeStatusSchema, files: z.array(text) })),
    })
    .nullable(),
  drift: driftSchema.nullable(),
  /** What the last look found: how many files differ from the base, and which tree they are. */
  seen: z.strictObject({ files: count, tree: oid }).nullable(),
  /** What each gate said last, and of which tree. */
  gates: z.array(gateStandingSchema),
  setup: z.strictObject({
    state: z.enum(['none', 'done', 'failed']),
    message: text.exactOptional(),
    seconds: z.number().exactOptional(),
  }),
  pending: pendingSchema.exactOptional(),
  pr: pullRequestSchema.exactOptional(),
  failure: z.strictObject({ code: text, message: text }).exactOptional(),
  /** Where its work is kept when it has no folder. */
  ref: text.exactOptional(),
});
export type WorktreeView = z.infer<typeof worktreeViewSchema>;

export const acceptedSchema = z.strictObject({
  status: z.enum(['merged', 'pending']),
  commit: oid,
  ref: text.exactOptional(),
  /** Only when pending: whose work is in the way (`target_dirty`), and how to continue. */
  waiting: z
    .strictObject({ code: z.literal('target_dirty'), checkout: text, files: z.array(text), command: text })
    .exactOptional(),
  /** What the user agreed to with --yes, and other remarks. */
  noted: z.array(text),
});
export type Accepted = z.infer<typeof acceptedSchema>;

export const judgedTreeSchema = z.strictObject({ id: text, tree: oid, gates: z.array(judgedGateSchema) });
export type JudgedTree = z.infer<typeof judgedTreeSchema>;

export const updatedSchema = z.strictObject({
  id: text,
  /** The branch that was brought in. */
  target: text,
  /** `current`: it had everything already. `conflict`: the files named below are marked. */
  status: z.enum(['current', 'updated', 'conflict']),
  files: z.array(text),
});
export type UpdatedWorktree = z.infer<typeof updatedSchema>;

export const pushOptionsSchema = z.strictObject({
  remote: z.string().min(1).max(255).exactOptional().describe('Default: where git would push the target branch'),
  branch: z.string().min(1).max(240).exactOptional().describe('Name of the branch there; default: one of its own'),
  yes: z.boolean().default(false).describe('Push changes to files that judge or execute'),
});
export type PushOptions = z.output<typeof pushOptionsSchema>;

export const pushedSchema = z.strictObject({
  id: text,
  remote: text,
  branch: text,
  commit: oid,
  /** `current`: the remote has all of it already. */
  status: z.enum(['pushed', 'current']),
  /** Where a person opens a pull request, as the forge said. */
  address: text.exactOptional(),
  /** What the user agreed to with --yes. */
  noted: z.array(text),
});
export type PushedWorktree = z.infer<typeof pushedSchema>;

export const pullRequestOptionsSchema = pushOptionsSchema.extend({
  into: z.string().min(1).max(1_000).exactOptional().describe('The branch it is to be merged into there'),
  draft: z.boolean().default(false),
});
export type PullRequestOptions = z.output<typeof pullRequestOptionsSchema>;

export const openedSchema = pushedSchema.extend({
  /** Absent: the command line of the forge is not there, and `address` is to be opened by hand. */
  pr: pullRequestSchema.exactOptional(),
  /** The program that would have opened it. */
  missing: text.exactOptional(),
});
export type OpenedPullRequest = z.infer<typeof openedSchema>;

/** Ignored files are in no commit: they are named, not kept. */
export const keptSchema = z.strictObject({ ref: text, command: text, ignored: z.array(text) });
export type KeptWork = z.infer<typeof keptSchema>;

const changedFileSchema = z.strictObject({
  status: z.enum(['A', 'D', 'M', 'T', 'R', 'U']),
  path: text,
  from: text.exactOptional(),
});

export const diffSchema = z.strictObject({
  base: oid,
  /** The present files. */
  tree: oid.exactOptional(),
  /** What each gate said last; absent where no gate may run, because the repository is not trusted. */
  gates: z.array(gateStandingSchema).exactOptional(),
  files: z.array(changedFileSchema),
  patch: text,
  truncated: z.boolean(),
  drift: driftSchema,
});
export type WorktreeDiff = z.infer<typeof diffSchema>;

const pruneEntrySchema = z.strictObject({
  kind: z.enum(['worktree', 'ref']),
  /** A path or a ref. */
  target: text,
  worktreeId: text.nullable(),
  bytes: count,
  ageSeconds: count,
  reason: text,
  outcome: z.enum(['would_remove', 'removed', 'refused']),
  refusal: z.strictObject({ code: z.literal('prune_refused'), why: text }).exactOptional(),
});
export type PruneEntry = z.infer<typeof pruneEntrySchema>;
export const pruneReportSchema = z.strictObject({ entries: z.array(pruneEntrySchema) });
export type PruneReport = z.infer<typeof pruneReportSchema>;

const reconcileReportSchema = z.strictObject({
  live: z.array(text),
  held: z.array(text),
  zombies: z.array(z.strictObject({ path: text, worktreeId: text.nullable(), why: text })),
  ghosts: z.array(text),
  foreign: z.array(text),
  /** Interrupted work that was completed or undone, in words. */
  recovered: z.array(text),
});
export type ReconcileReport = z.infer<typeof reconcileReportSchema>;

/** An id, a title or a path. */
export const taskName = z.string().min(1).max(4_096);
export const planSchema = z
  .array(z.string().min(1).max(4_096))
  .max(5_000)
  .default([])
  .describe('Files or globs that the task will change');

export const acceptOptionsSchema = z.strictObject({
  strategy: mergeStrategySchema.default('squash'),
  message: z.string().min(1).max(65_536).exactOptional(),
  /** Needed when the worktree was made from a commit; otherwise it replaces the base. */
  into: z.string().min(1).max(1_000).exactOptional(),
  whenClean: z.boolean().default(false).describe('If the target has uncommitted changes, merge as soon as it has none'),
  yes: z.boolean().default(false).describe('Accept skipped gates, unplanned files and changes to gate files'),
  tree: oid
    .regex(/^[0-9a-f]{40,64}$/)
    .exactOptional()
    .describe('Merge only these files: the tree that diff or worktree_gates named; others are refused'),
});
export type AcceptOptions = z.input<typeof acceptOptionsSchema>;

export const commentSchema = z.strictObject({
  path: z.string().min(1).max(4_096),
  side: z.enum(['old', 'new']).default('new'),
  line: z.number().int().min(1),
  blob: z
    .string()
    .regex(/^[0-9a-f]{7,64}$/)
    .describe('Of the file as it was seen: the id in the index line of the diff, or the beginning of it'),
  text: z.string().min(1).max(16_384),
});
export type ReviewComment = z.infer<typeof commentSchema>;
