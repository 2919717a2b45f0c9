import { withoutColours } from '../../base/printable.ts';
import { parseJson } from '../../base/safe-json.ts';
import type {
  BlockDef,
  BlockStatus,
  Halt,
  LogEntry,
  RunEvent,
  RunView,
  WorkflowManifest,
} from '../../protocol/workflow.ts';
import type { EntryData, JournalEntry } from '../durable/journal.ts';
import { type Action, actionTargets, parseAction } from '../language/action.ts';
import { blockIdOf, blockIn } from '../language/names.ts';
import type { Blobs } from '../memory/segment.ts';
import { mainBranch, type RunInput, runBudget } from '../run/branch-run.ts';
import { BRANCHES_AT_ONCE, joinKey, joinOutcome } from '../run/fork.ts';
import type { Answer, BranchEnd, BranchStart, ForkOrder, Joined, VisitOutcome } from '../walk/outcomes.ts';
import { keyOf, placeOf, VisitLog } from '../walk/visit-log.ts';
import { type Rules, Walk } from '../walk/walk.ts';

interface AnsweredHalt {
  halt: Halt;
  answerId: string | undefined;
}

/** The step in which the job of a visit begins; `-2` and so on where another agent took over. */
const JOB_STEP = /\/job(-\d+)?$/;

/** A run as its journal tells it: the same walk, fed with the recorded entries. The same entries give the same view. */
export class RunFold {
  readonly #runId: string;
  readonly #blobs: Pick<Blobs, 'get'>;
  /** By kind, then key: joining long keys at each look is slow. */
  readonly #entries = new Map<string, Map<string, EntryData>>();
  readonly #walks: Walk[] = [];
  /** Branches of each fork under way, by its key. */
  readonly #forks = new Map<string, string[]>();
  readonly #answered: AnsweredHalt[] = [];
  readonly #events: RunEvent[] = [];
  /** By visit, as in the log. */
  readonly #prompts = new Map<string, Pick<LogEntry, 'prompt'>>();
  #seq = 0;
  #run: RunInput | undefined;
  #rules: Rules | undefined;
  #graph: RunView['graph'] = { nodeId: '', blocks: [], transitions: [] };
  #log: VisitLog | undefined;
  #end: EntryData | undefined;
  #isStuck = false;
  #stepping: boolean | undefined;

  constructor(runId: string, blobs: Pick<Blobs, 'get'>) {
    this.#runId = runId;
    this.#blobs = blobs;
  }

  get seq(): number {
    return this.#seq;
  }

  get isEnded(): boolean {
    return this.#end !== undefined;
  }

  /** As a person last set it during the run. */
  get stepping(): boolean | undefined {
    return this.#stepping;
  }

  /** Where the main branch ends, given what was recorded. */
  get walkedEnd(): BranchEnd | undefined {
    const command = this.#walks[0]?.command;
    return command?.do === 'end' ? command.end : undefined;
  }

  get recordedEnd(): EntryData | undefined {
    return this.#end;
  }

  /** The halt that was answered there before. */
  answeredAt(at: { block: string; visit: number; branch: string }): AnsweredHalt | undefined {
    return this.#answered.findLast(
      ({ halt }) => halt.block === at.block && halt.visit === at.visit && halt.branch === at.branch,
    );
  }

  apply({ n, kind, key, data }: JournalEntry): void {
    this.#seq = n;
    this.#keep(kind, key, data);
    this.#isStuck = kind === 'mismatch';
    if (kind === 'start') this.#begin(data);
    if (kind === 'step' && key === 'begin')
      this.#branch(mainBranch(this.#runOf(), (data.value ?? null) as string | null));
    if (kind === 'answer') this.#noteStepping(data);
    if (kind === 'step' && JOB_STEP.test(key)) this.#noteJob(key, data);
    if (kind === 'end') this.#end = data;
    this.#advance();
  }

  view(): RunView {
    const run = this.#runOf();
    const [main] = this.#walks;
    const log = this.#log ?? new VisitLog(run.manifest);
    const active = this.#active();
    const halts = this.isEnded ? [] : this.#halts();
    const entries = [...log.entries, ...active.map((entry): [string, LogEntry] => [keyOf(entry), entry])];
    const isWalking = main !== undefined && main.command.do !== 'end' && !this.isEnded;
    return {
      runId: this.#runId,
      seq: this.#seq,
      task: run.task,
      outcome: this.#outcome(),
      graph: this.#graph,
      statuses: this.#statuses(log, active, halts),
      position: isWalking ? main.position : null,
      path: [...log.path, ...active.map(({ block, visit, branch }) => ({ block, visit, branch }))],
      lastTransition: log.lastTransition,
      visits: main?.visits ?? {},
      returnStack: isWalking ? main.returnStack : [],
      isHalted: halts.length > 0,
      ...(halts[0] && { halt: halts[0] }),
      halts,
      budget: { limit: runBudget(run), spent: log.spent, warned: [...log.warned] },
      stats: { filesWritten: log.filesWritten, linesWritten: log.linesWritten, segments: main?.segmentCount ?? 0 },
      gates: [...log.gates],
      events: [...this.#events],
      executionLog: Object.fromEntries(entries.map(([key, entry]) => [key, { ...entry, ...this.#prompts.get(key) }])),
    };
  }

  #begin({ value }: EntryData): void {
    const run = value as unknown as RunInput;
    this.#run = run;
    this.#rules = { manifest: run.manifest, blobs: this.#blobs, autoResume: run.autoResume };
    this.#log = new VisitLog(run.manifest);
    this.#graph = drawRunGraph(run.manifest, run.node);
  }

  #runOf(): RunInput {
    if (!this.#run) throw new TypeError('the journal does not begin with a start');
    return this.#run;
  }

  #branch(start: BranchStart): void {
    if (this.#rules) this.#walks.push(new Walk(this.#rules, start, this.#log));
  }

  #noteStepping({ value }: EntryData): void {
    const step = typeof value === 'object' && value !== null && 'step' in value ? value.step : undefined;
    if (typeof step === 'boolean') this.#stepping = step;
  }

  #noteJob(key: string, { value }: EntryData): void {
    const { events = [], prompt } = value as unknown as { events?: RunEvent[] } & Pick<LogEntry, 'prompt'>;
    this.#events.push(...events);
    if (prompt) this.#prompts.set(key.replace(/^main\//, '').replace(JOB_STEP, ''), { prompt });
  }

  #keep(kind: string, key: string, data: EntryData): void {
    const known = this.#entries.get(kind);
    if (known) known.set(key, data);
    else this.#entries.set(kind, new Map([[key, data]]));
  }

  #entry(kind: 'step' | 'answer' | 'child', key: string): EntryData | undefined {
    return this.#entries.get(kind)?.get(key);
  }

  /** Every branch goes as far as its entries lead. */
  #advance(): void {
    let isMoving = true;
    while (isMoving) {
      isMoving = false;
      // A single branch has gone as far as it can; a fork adds others.
      for (const walk of [...this.#walks]) while (this.#move(walk)) isMoving = this.#walks.length > 1;
    }
  }

  #move(walk: Walk): boolean {
    const { command } = walk;
    switch (command.do) {
      case 'end':
        return false;
      case 'visit': {
        const step = this.#entry('step', command.order.key);
        if (step?.value === undefined) return false;
        walk.takeVisit(step.value as unknown as VisitOutcome);
        return true;
      }
      case 'ask': {
        const answer = this.#entry('answer', command.halt.key);
        if (!answer) return false;
        this.#answered.push({ halt: command.halt, answerId: answer.answerId });
        walk.takeAnswer(answer.isOver ? undefined : (answer.value as unknown as Answer));
        return true;
      }
      case 'fork':
        return this.#join(walk, command.order);
    }
  }

  #join(walk: Walk, order: ForkOrder): boolean {
    const branches = order.branches.map(({ branch }) => branch);
    if (!this.#forks.has(order.key)) {
      this.#forks.set(order.key, branches);
      for (const start of order.branches) this.#branch(start);
      return true;
    }
    const joined = this.#entry('step', joinKey(order));
    if (joined?.value === undefined) return false;
    const ends = branches.map((branch) => this.#entry('child', branch)?.value ?? null);
    walk.takeJoin(joinOutcome(ends as unknown as (BranchEnd | null)[], joined.value as unknown as Joined));
    const others = this.#walks.filter((each) => !branches.includes(each.branch));
    this.#walks.splice(0, this.#walks.length, ...others);
    return true;
  }

  /** Visits under way, as entries of the log. */
  #active(): LogEntry[] {
    return this.#walks.flatMap(({ command, branch }) => {
      if (command.do !== 'visit' || !this.#isBegun(branch)) return [];
      const jobId = command.order.jobId ?? this.#jobOf(command.order.key);
      return [
        {
          ...placeOf(command.order),
          worker: blockIn(this.#runOf().manifest, command.order.block)?.worker ?? '',
          status: this.isEnded ? ('failed' as const) : ('active' as const),
          ...(jobId !== undefined && { jobId }),
          segments: [],
        },
      ];
    });
  }

  /** The job of the agent that took over last, or of the first one. */
  #jobOf(key: string): string | undefined {
    const begun = (step: string) => (this.#entry('step', step)?.value as { ok?: string } | undefined)?.ok;
    let jobId = begun(`${key}/job`);
    for (let n = 2; this.#entry('step', `${key}/job-${n}`) !== undefined; n++)
      jobId = begun(`${key}/job-${n}`) ?? jobId;
    return jobId;
  }

  /** A branch beyond the first four waits until as many have ended. */
  #isBegun(branch: string): boolean {
    const fork = [...this.#forks.values()].find((branches) => branches.includes(branch)) ?? [];
    const ended = fork.filter((each) => this.#entry('child', each) !== undefined).length;
    return fork.indexOf(branch) < BRANCHES_AT_ONCE + ended;
  }

  #halts(): Halt[] {
    return this.#walks.flatMap(({ command }) => (command.do === 'ask' ? [asRead(command.halt)] : []));
  }

  #statuses(log: VisitLog, active: LogEntry[], halts: Halt[]): Record<string, BlockStatus> {
    const statuses = Object.fromEntries(this.#graph.blocks.map((block): [string, BlockStatus] => [block, 'pending']));
    for (const [block, status] of log.statuses) statuses[block] = status;
    for (const { block, status } of active) statuses[block] = status;
    for (const { block } of halts) statuses[block] = 'halted';
    return statuses;
  }

  #outcome(): RunView['outcome'] {
    if (this.#end?.status === 'cancelled') return 'aborted';
    if (this.#end?.status === 'failed' || this.#isStuck) return 'broken';
    const value = this.#end?.value as { outcome?: BranchEnd['outcome'] } | undefined;
    return value?.outcome ?? 'running';
  }
}

/** Every block that the start node can lead to, and the transitions between them. */
function drawRunGraph(manifest: WorkflowManifest, nodeId: string): RunView['graph'] {
  const transitions = Object.entries(manifest.nodes).flatMap(([node, { blocks }]) =>
    Object.entries(blocks).flatMap(([name, block]) =>
      block.transitions.flatMap(({ on_signal, action: text }) => {
        const action = parseAction(text);
        if ('error' in action) return [];
        const from = blockIdOf(node, name);
        const back = enter(manifest, backOf(action, block) ?? from);
        return targetsOf(action).map((to) => ({
          ...{ from, to: enter(manifest, to), signal: on_signal },
          ...(isEntered(action, to) && { back }),
        }));
      }),
    ),
  );
  const blocks = new Set([enter(manifest, nodeId)]);
  for (const block of blocks) {
    for (const { from, to } of transitions) if (from === block && to.includes('__')) blocks.add(to);
  }
  return { nodeId, blocks: [...blocks], transitions: transitions.filter(({ from }) => blocks.has(from)) };
}

function backOf(action: Action, { returns_to }: BlockDef): string | undefined {
  if (action.do === 'call') return action.returnTo ?? returns_to;
  return action.do === 'fork' ? action.joinTo : undefined;
}

/** Whether it goes into that node to come back. */
function isEntered(action: Action, target: string): boolean {
  if (action.do === 'call') return action.node === target;
  return action.do === 'fork' && action.nodes.includes(target);
}

function enter(manifest: WorkflowManifest, target: string): string {
  return manifest.nodes[target]?.entry_block ?? target;
}

function targetsOf(action: Action): string[] {
  if (action.do === 'return') return ['RETURN'];
  return action.do === 'halt' ? ['HALT_AND_FLAG'] : actionTargets(action);
}

/** The end of a log without colours, and an error of a job, which is kept as JSON, in words. */
function asRead(halt: Halt): Halt {
  if (halt.excerpt === undefined) return halt;
  const parsed = parseJson(halt.excerpt);
  const { code, message } = ((parsed.ok ? parsed.value : undefined) ?? {}) as { code?: unknown; message?: unknown };
  const isError = typeof code === 'string' && typeof message === 'string';
  return { ...halt, excerpt: withoutColours(isError ? `${code}: ${message}` : halt.excerpt) };
}
