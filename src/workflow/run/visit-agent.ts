import type { PromptPart, RunEvent } from '../../protocol/workflow.ts';
import { renderPrompt } from '../agent/prompt.ts';
import {
  type BlockResult,
  contentRule,
  NO_RESULT,
  type ReadResult,
  readResult,
  resultJsonSchema,
} from '../agent/read-result.ts';
import { Detached, type StepScope } from '../durable/durable.ts';
import { FAILURE, type Signal, SUCCESS } from '../language/names.ts';
import type { ContextSegment } from '../memory/segment.ts';
import { NOTHING, sumAmounts } from '../walk/amounts.ts';
import type { StopReason, VisitOrder, VisitOutcome } from '../walk/outcomes.ts';
import { WRITE_TYPES } from '../workers/file-system-writer.ts';
import { makeSegments } from '../workers/worker.ts';
import {
  agentsFor,
  type Candidate,
  changeOfAgent,
  HAND_OVER_TOKENS,
  handOver,
  type Stopped,
  whyAnother,
} from './agent-roster.ts';
import { type Assembled, assembleInput } from './assemble-input.ts';
import { allowedSignals, type BlockAt, type BranchRun, budgetOf, metadataOf } from './branch-run.ts';
import type { AgentJobSpec, DegradedSlice, JobEnd } from './ports.ts';
import { checkpoint, crashed, keep, recordStep, stepInput, type Tried, tried, visitFacts } from './visit-step.ts';

const CORRECTIONS = 2;
type Made = Pick<ContextSegment, 'type' | 'content'> & Partial<Pick<ContextSegment, 'filePath'>>;

/** Several steps: the job begins, each turn is awaited, the end is judged. After a kill it goes on with the same job. */
export async function visitAgent(at: BranchRun, order: VisitOrder, block: BlockAt): Promise<VisitOutcome> {
  const step = { key: order.key, input: stepInput(at, order, block) };
  const worked = await workWith(at, order, block);
  return recordStep(at.durable, step, (scope) => conclude(at, { order, block, scope, worked }));
}

interface Worked {
  jobId: string;
  end: JobEnd;
  read: ReadResult | undefined;
  /** What was wrong with the first answer, before the agent was asked to correct it. */
  firstFaults: string[];
  /** Jobs of agents from which this one took over: they are not needed any more. */
  others?: string[];
}

/** One agent after the other, until one of them has not stopped for a reason of its own. */
async function workWith(at: BranchRun, order: VisitOrder, block: BlockAt): Promise<Tried<Worked>> {
  if (order.jobId !== undefined) return workOn(at, order, block, { jobId: order.jobId, prefix: order.key });
  const before: Stopped[] = [];
  const all: Worked[] = [];
  for (const [index, candidate] of agentsFor(at, block).entries()) {
    const prefix = index === 0 ? order.key : `${order.key}/job-${index + 1}`;
    const job = index === 0 ? `${order.key}/job` : prefix;
    const begun = await beginJob(at, order, block, { key: job, candidate, before });
    const worked = 'crash' in begun ? begun : await workOn(at, order, block, { jobId: begun.ok, prefix });
    if ('ok' in worked) all.push(worked.ok);
    const why = whyAnother(worked);
    if (why === undefined || index + 1 === agentsFor(at, block).length) return chosenOf(worked, all);
    before.push({ agent: candidate.agent, ...why });
  }
  throw new TypeError('a roster has at least one agent');
}

/** If all have stopped, the one goes on whose limit resets first. All of them are paid for. */
function chosenOf(last: Tried<Worked>, all: readonly Worked[]): Tried<Worked> {
  const resets = ({ end }: Worked) => (end.how === 'rate_limit' ? (end.resumeAt ?? '9999') : '');
  const limited = all.filter(({ end }) => end.how === 'rate_limit').sort((a, b) => (resets(a) < resets(b) ? -1 : 1));
  const isStopped = whyAnother(last) !== undefined;
  const [soonest] = isStopped ? limited : [];
  const chosen = soonest ?? ('ok' in last ? last.ok : undefined);
  if (!chosen) return last;
  const spent = sumAmounts(all.map(({ end }) => end.spent));
  const others = all.flatMap(({ jobId }) => (jobId === chosen.jobId ? [] : [jobId]));
  return { ok: { ...chosen, end: { ...chosen.end, spent }, others } };
}

interface OneJob {
  jobId: string;
  /** Of the keys of its turns. */
  prefix: string;
}

async function workOn(
  at: BranchRun,
  order: VisitOrder,
  block: BlockAt,
  { jobId, prefix }: OneJob,
): Promise<Tried<Worked>> {
  const rules = { signals: allowedSignals(block.def), ...ruleOf(at, block) };
  let firstFaults: string[] = [];
  for (let n = 1, text: string | undefined; ; n++) {
    const turned = await takeTurn(at, order, { jobId, prefix, n, text });
    if ('crash' in turned) return turned;
    const end = turned.ok;
    const read = end.how === 'completed' ? readResult(end, rules) : undefined;
    if (n === 1 && read?.ok === false) firstFaults = read.faults;
    if (read?.ok !== false || n > CORRECTIONS || handlesFault(block)) return { ok: { jobId, end, read, firstFaults } };
    text = correction(read.faults);
  }
}

function ruleOf({ input }: BranchRun, { def }: BlockAt) {
  const rule = contentRule(def.validationSchema, input.run.manifest.schemas);
  return rule ? { rule } : {};
}

/** With a transition for it the workflow decides; else the same job is asked to correct itself. */
function handlesFault({ def }: Pick<BlockAt, 'def'>): boolean {
  return def.transitions.some(({ on_signal }) => on_signal === 'SIGNAL:VALIDATION_FAIL');
}

function correction(faults: string[]): string {
  const list = faults.map((fault) => `- ${fault}`).join('\n');
  return `Your answer cannot be used:\n${list}\n\nAnswer again in the form asked for. Change nothing else.`;
}

/** The job's id as the journal keeps it, what its prompt was made of, and what it had to do without. */
type Begun = Tried<string> & { prompt?: PromptPart[]; events?: RunEvent[] };

interface Beginning {
  key: string;
  candidate: Candidate;
  /** Agents that have stopped before it. */
  before: readonly Stopped[];
}

function beginJob(at: BranchRun, order: VisitOrder, block: BlockAt, beginning: Beginning): Promise<Begun> {
  const { key, candidate, before } = beginning;
  const step = { key, input: stepInput(at, order, block) };
  return recordStep(at.durable, step, async (scope): Promise<Begun> => {
    let degraded: DegradedSlice[] = [];
    let prompt: PromptPart[] = [];
    const begun = await tried(at.ports, scope, async () => {
      const assembled = await assembleInput(at, order, block);
      degraded = assembled.degraded;
      const { parts, ...spec } = await jobSpec(at, order, block, { ...beginning, shown: assembled });
      prompt = parts;
      return at.ports.jobs.spawn(scope.effectKey, spec);
    });
    const last = before.at(-1);
    const events = [
      ...degradedEvents(at, order, degraded),
      ...(last ? [changeOfAgent(at, order, last, candidate)] : []),
    ];
    return { ...begun, ...(prompt.length > 0 && { prompt }), ...(events.length > 0 && { events }) };
  });
}

function degradedEvents({ ports, walk }: BranchRun, { block, visit }: VisitOrder, degraded: DegradedSlice[]) {
  const where = { block, visit, branch: walk.branch, at: ports.clock.now().toISOString() };
  return degraded.map((each): RunEvent => ({ type: 'context_degraded', ...where, ...each }));
}

async function jobSpec(
  at: BranchRun,
  order: VisitOrder,
  block: BlockAt,
  { shown, candidate, before }: Beginning & { shown: Assembled },
): Promise<AgentJobSpec & { parts: PromptPart[] }> {
  const { ports, input, walk } = at;
  const { roster } = block;
  const told = handOver(before);
  const room = { ...ports.prompt, limit: ports.prompt.limit - (told === '' ? 0 : HAND_OVER_TOKENS) };
  const { text, leftOut, parts } = await renderPrompt(shown.input, shown.stored, room);
  for (const part of leftOut) await ports.prompt.keep?.(input.run.runId, part);
  return {
    ...candidate,
    prompt: `${told}${text}`,
    parts,
    cwd: input.worktree.path,
    worktreeId: input.worktree.id,
    readonly: roster.readonly === true,
    resultSchema: resultJsonSchema(allowedSignals(block.def)),
    budget: budgetOf(at, order, block),
    ...(before.length === 0 && sessionFor(at, order)),
    run: { runId: input.run.runId, block: order.block, visit: order.visit, branch: walk.branch },
  };
}

/** The first visit of a run that goes on continues the conversation about the same block. */
function sessionFor({ input, walk }: BranchRun, { n, block }: VisitOrder): Pick<AgentJobSpec, 'continues'> {
  const session = input.run.continued?.session;
  const isMeant = n === 1 && walk.branch === 'main' && session?.block === block;
  return isMeant ? { continues: session.jobId } : {};
}

interface Turn extends OneJob {
  n: number;
  text: string | undefined;
}

function takeTurn(at: BranchRun, order: VisitOrder, { jobId, prefix, n, text }: Turn): Promise<Tried<JobEnd>> {
  // After a rate limit the job goes on without a new message.
  const isGoingOn = order.jobId !== undefined && n === 1;
  const { jobs } = at.ports;
  const step = { key: `${prefix}/turn-${n}`, input: { jobId, text: text ?? null } };
  return recordStep(at.durable, step, (scope) =>
    tried(at.ports, scope, async (): Promise<JobEnd> => {
      if (isLost(at, jobId)) return { how: 'lost', spent: NOTHING };
      if (text !== undefined || isGoingOn) await jobs.send(scope.effectKey, jobId, text);
      return jobs.wait(jobId, scope.abort).catch(async (error) => {
        // Agents outlive this process: a job ends only if its run was told to end.
        if (scope.abort.aborted && !(scope.abort.reason instanceof Detached)) await jobs.kill(jobId);
        throw error;
      });
    }),
  );
}

interface Concluding {
  order: VisitOrder;
  block: BlockAt;
  scope: StepScope;
}

async function conclude(
  at: BranchRun,
  { worked, ...about }: Concluding & { worked: Tried<Worked> },
): Promise<VisitOutcome> {
  const { order, scope } = about;
  if ('crash' in worked) return { ...crashed(worked.crash), ...(await visitFacts(at, order, NOTHING)) };
  const { jobId, end, others = [] } = worked.ok;
  for (const other of others) if (!isLost(at, other)) await at.ports.jobs.kill(other);
  const judged = await tried(at.ports, scope, () => judge(at, { ...about, worked: worked.ok }));
  const facts = { ...(await visitFacts(at, order, end.spent)), jobId };
  return 'crash' in judged ? { ...crashed(judged.crash), ...facts } : { ...judged.ok, ...facts };
}

async function judge(at: BranchRun, { order, block, scope, worked }: Concluding & { worked: Worked }) {
  const verdict = await verdictOf(at, order, block, worked);
  const isOpen = verdict.kind === 'parked' || verdict.kind === 'lost';
  return isOpen ? verdict : { ...verdict, ...(await checkpoint(at, order, block, scope)) };
}

type Verdict =
  | { kind: 'done'; signal: Signal; segments: ReturnType<typeof keep> }
  | { kind: 'interrupted'; what: string; segments: [] }
  | { kind: 'parked'; message: string; resumeAt?: string; segments: [] }
  | { kind: 'lost'; message: string; segments: [] }
  | { kind: 'stopped'; reason: StopReason; message: string; segments: [] };

async function verdictOf(at: BranchRun, order: VisitOrder, block: BlockAt, worked: Worked): Promise<Verdict> {
  const { end, read, jobId, firstFaults } = worked;
  const segments: [] = [];
  const lost: Verdict = { kind: 'lost', message: `The host of job ${jobId} was lost.`, segments };
  if (isLost(at, jobId)) return lost; // also when it ended well: what it wrote is on that host
  switch (end.how) {
    case 'lost':
      return lost;
    case 'killed':
      return { kind: 'stopped', reason: 'job_killed', message: `The job ${jobId} was killed.`, segments };
    case 'stale':
      return { kind: 'stopped', reason: 'job_stale', message: end.message, segments };
    case 'budget':
      return { kind: 'interrupted', what: end.what, segments };
    case 'rate_limit': {
      const resumeAt = end.resumeAt === undefined ? {} : { resumeAt: end.resumeAt };
      return { kind: 'parked', message: end.message, ...resumeAt, segments };
    }
    case 'error': {
      const error = { type: 'ERROR', content: { code: end.code, message: end.message, jobId } };
      return done(at, order, { signal: FAILURE, made: [error] });
    }
    case 'completed': {
      const changed = await changedFiles(at);
      if (read?.ok) return done(at, order, accepted(block, read.result, changed));
      if (isUnreported(block, read, changed)) {
        const result: BlockResult = { signal: SUCCESS, summary: end.text, segments: [], newFiles: [] };
        return done(at, order, accepted(block, result, changed));
      }
      const faults = {
        type: 'VALIDATION_ERROR',
        content: { faults: [...new Set([...firstFaults, ...(read?.faults ?? [])])] },
      };
      const text = { type: 'AGENT_OUTPUT', content: end.text };
      return done(at, order, { signal: 'SIGNAL:VALIDATION_FAIL', made: [text, faults, ...changes(changed)] });
    }
  }
}

/** It changed files and only failed to say so: the gates judge the work. A block that checks content needs its report. */
function isUnreported({ def }: BlockAt, read: ReadResult | undefined, changed: string[]): boolean {
  const isSilent = read?.ok === false && read.faults.every((fault) => fault === NO_RESULT);
  const needsReport = def.validationSchema !== undefined || !allowedSignals(def).includes(SUCCESS);
  return isSilent && changed.length > 0 && !needsReport && !handlesFault({ def });
}

function isLost({ ports, input }: BranchRun, jobId: string): boolean {
  return ports.jobs.isLost?.(jobId, input.worktree.id) ?? false;
}

/** Git says what changed, not the agent. */
async function changedFiles({ ports, input, walk }: BranchRun): Promise<string[]> {
  return walk.tree === null ? [] : ports.captures.changedFiles(input.worktree.path, walk.tree);
}

function changes(files: string[]): Made[] {
  return files.length === 0 ? [] : [{ type: 'FILES_CHANGED', content: files }];
}

function accepted({ def }: BlockAt, result: BlockResult, changed: string[]): { signal: Signal; made: Made[] } {
  const found: Made[] =
    result.newFiles.length === 0 ? [] : [{ type: 'NEW_FILES_IDENTIFIED', content: result.newFiles }];
  const made = [{ type: 'AGENT_OUTPUT', content: result.summary }, ...result.segments, ...found, ...changes(changed)];
  const wrote = changed.length > 0 || result.segments.some(({ type }) => WRITE_TYPES.has(type));
  const isIdle = def.expects === 'changes' && !wrote && result.signal !== FAILURE;
  return { signal: isIdle ? 'SIGNAL:NO_CHANGES' : result.signal, made };
}

function done(at: BranchRun, order: VisitOrder, { signal, made }: { signal: Signal; made: Made[] }): Verdict {
  const context = { visitKey: order.key, now: () => at.ports.clock.now() };
  return { kind: 'done', signal, segments: keep(at, makeSegments(metadataOf(at, order), context, made)) };
}
