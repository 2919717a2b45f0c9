import type { Clock } from '../../base/clock.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type Halt, type HaltAnswer, haltAnswerSchema, type Json, type RunView } from '../../protocol/workflow.ts';
import type { DurableEngine } from '../durable/durable-engine.ts';
import { isWorkerSignal } from '../language/names.ts';
import { type Blobs, type ContextSegment, openSegment } from '../memory/segment.ts';
import { type RunInput, WORKFLOW_BODY } from '../run/branch-run.ts';
import { RunFold } from '../view/run-fold.ts';
import type { Answer, VisitOutcome } from '../walk/outcomes.ts';

interface RunsDeps {
  engine: DurableEngine;
  blobs: Pick<Blobs, 'get'>;
  clock: Clock;
  newId: () => string;
}

export interface Replay {
  /** Where the recorded results lead; undefined if the run has not ended. */
  walked: string | undefined;
  recorded: string;
  isSame: boolean;
}

/** Runs as their journals tell them: views, answers, replays. */
export class WorkflowRuns {
  readonly #deps: RunsDeps;
  /** Runs under way: only new entries are read. */
  readonly #folds = new Map<string, RunFold>();

  constructor(deps: RunsDeps) {
    this.#deps = deps;
  }

  async start(input: RunInput): Promise<void> {
    await this.#deps.engine.start(WORKFLOW_BODY, input.runId, JSON.parse(JSON.stringify(input)));
  }

  async view(runId: string): Promise<RunView> {
    return (await this.#fold(runId)).view();
  }

  /** The first answer to a halt wins; a later one is refused. */
  async answer(runId: string, answer: HaltAnswer, { key, by }: { key?: string; by?: string } = {}): Promise<RunView> {
    const request = haltAnswerSchema.parse(answer);
    const answerId = key ?? this.#deps.newId();
    const fold = await this.#fold(runId);
    const halt = fold.view().halts.find((each) => isAt(each, request));
    const before = halt ? undefined : fold.answeredAt(request);
    if (before && before.answerId === answerId) return fold.view();
    if (before) throw new ReefError('halt_already_answered', `${request.block}#${request.visit} was answered before.`);
    if (!halt) throw new ReefError('run_not_halted', `The run does not wait at ${request.block}#${request.visit}.`);
    refuseVerb(halt, request);
    const { block: _, visit: __, branch: ___, ...said } = request;
    const value: Answer = { at: this.#deps.clock.now().toISOString(), ...said, ...(by !== undefined && { by }) };
    const taken = await this.#deps.engine.answer(runId, halt.key, answerId, value as unknown as Json);
    if (taken === 'late')
      throw new ReefError('halt_already_answered', `${halt.block}#${halt.visit} was answered before.`);
    return this.view(runId);
  }

  /** Takes effect at the next block. */
  async setStepping(runId: string, step: boolean): Promise<void> {
    const id = this.#deps.newId();
    const said = await this.#deps.engine.answer(runId, `mode/${id}`, id, { step });
    if (said === 'late') throw new ReefError('run_not_halted', `The run ${runId} has ended.`);
  }

  async steppingOf(runId: string): Promise<boolean | undefined> {
    return (await this.#fold(runId)).stepping;
  }

  /** Walks the run again with the recorded results. No process is started, and the end must be the same. */
  async replay(runId: string): Promise<Replay> {
    const fold = await this.#read(new RunFold(runId, this.#deps.blobs), runId);
    const { walkedEnd, recordedEnd } = fold;
    const recorded = recordedEnd?.value as { outcome: string; signal: string | null; tree: string | null } | undefined;
    const { outcome } = fold.view();
    const isSame =
      recordedEnd?.status === 'completed'
        ? walkedEnd?.outcome === recorded?.outcome &&
          walkedEnd?.signal === recorded?.signal &&
          walkedEnd?.tree === recorded?.tree
        : walkedEnd === undefined;
    return { walked: walkedEnd?.outcome, recorded: outcome, isSame };
  }

  /** What all visits left, in order, with whole contents. */
  async segments(runId: string): Promise<ContextSegment[]> {
    const found: ContextSegment[] = [];
    for await (const { kind, data } of this.#deps.engine.history(runId, 0)) {
      const { segments = [] } = (kind === 'step' && data.value ? data.value : {}) as unknown as Partial<VisitOutcome>;
      found.push(...segments.map((segment) => openSegment(segment, this.#deps.blobs)));
    }
    return found;
  }

  async #fold(runId: string): Promise<RunFold> {
    const fold = await this.#read(this.#folds.get(runId) ?? new RunFold(runId, this.#deps.blobs), runId);
    if (fold.isEnded) this.#folds.delete(runId);
    else this.#folds.set(runId, fold);
    return fold;
  }

  /** Two readers at once share a fold: an entry it has seen is skipped. */
  async #read(fold: RunFold, runId: string): Promise<RunFold> {
    for await (const entry of this.#deps.engine.history(runId, fold.seq)) if (entry.n > fold.seq) fold.apply(entry);
    return fold;
  }
}

function isAt(halt: Halt, { block, visit, branch }: HaltAnswer): boolean {
  return halt.block === block && halt.visit === visit && halt.branch === branch;
}

function refuseVerb(halt: Halt, { verb, signal }: HaltAnswer): void {
  if (!halt.options.includes(verb)) {
    throw new ReefError('bad_request', `${verb} is not an answer here: choose ${halt.options.join(', ')}.`);
  }
  if (signal !== undefined && (verb !== 'skip' || !isWorkerSignal(signal))) {
    throw new ReefError('bad_request', `${signal} is not a signal that a skipped block can give.`);
  }
}
