import type { Amounts, Halt, HaltVerb, Json, WorkflowManifest } from '../../protocol/workflow.ts';
import type { Action } from '../language/action.ts';
import type { Scope } from '../language/guard.ts';
import { type EngineSignal, SUCCESS } from '../language/names.ts';
import type { Blobs } from '../memory/segment.ts';
import { accountIn, sumAmounts } from './amounts.ts';
import { haltWords, shortName } from './halt-words.ts';
import { Memory, type Seen } from './memory.ts';
import type {
  Answer,
  BranchEnd,
  BranchStart,
  Command,
  ForkOrder,
  JoinOutcome,
  Place,
  Position,
  VisitOrder,
  VisitOutcome,
} from './outcomes.ts';
import { bindArgs, chooseTransition, type ReadBlock, type ReadTransition, readBlock } from './transitions.ts';
import { VisitLimits } from './visit-limits.ts';
import type { VisitLog } from './visit-log.ts';

export interface Rules {
  manifest: WorkflowManifest;
  blobs: Pick<Blobs, 'get'>;
  /** Continue without a person when a rate limit is over. */
  autoResume: boolean;
}

/** What `resume` does; the other verbs are the same for every halt. */
type Resume = () => Command;
type About = Pick<Halt, 'visit' | 'message' | 'resumeAt' | 'files'> & {
  excerpt?: string | undefined;
  resume: Resume;
  /** Where the block itself is done and something after it is passed over. */
  skip?: Resume;
};

const MOST_CALLS = 32;
const EVERY_VERB: HaltVerb[] = ['resume', 'retry', 'skip', 'abort'];

/**
 * One branch of a run as a state machine: it says what to do next and moves when told the outcome. It reads no clock and
 * has no effects, so engine, replay and view go the same way.
 */
export class Walk {
  /** The commit that the next block begins with; undefined before the first that writes. */
  checkpoint: string | undefined;
  readonly #rules: Rules;
  readonly #start: BranchStart;
  readonly #log: VisitLog | undefined;
  readonly #memory: Memory;
  readonly #limits: VisitLimits;
  readonly #applied: Set<string>;
  readonly #blocks = new Map<string, ReadBlock>();
  readonly #spent = new Map<string, Amounts>();
  /** The tree on which each gate last failed since a person answered. */
  readonly #failedOn = new Map<string, string>();
  #at: string;
  #stepping: boolean;
  #tree: string | null;
  /** Visits whose host was lost, and which were begun once more. */
  readonly #lost = new Set<string>();
  #lastSignal: string | null = null;
  #exhausted: string | undefined;
  #resume: Resume | undefined;
  #skip: Resume | undefined;
  #ordered = 0;
  #halts = 0;
  #branches = 0;
  /** Blocks entered since the last visit; too many are a circle in which nothing runs. */
  #passed = 0;
  #command: Command;

  constructor(rules: Rules, start: BranchStart, log?: VisitLog) {
    this.#rules = rules;
    this.#start = start;
    this.#log = log;
    this.#memory = new Memory(rules, start);
    this.#limits = new VisitLimits(start.visits, (block) => this.#block(block).def);
    this.#applied = new Set(start.applied);
    this.#stepping = start.stepping;
    this.#tree = start.tree;
    this.#at = this.#entryOf(start.node);
    this.#command = this.#enter(this.#at);
  }

  get command(): Command {
    return this.#command;
  }

  get branch(): string {
    return this.#start.branch;
  }

  get position(): Position {
    const visit =
      this.#command.do === 'visit'
        ? this.#command.order.visit
        : this.#command.do === 'ask'
          ? this.#command.halt.visit
          : this.#limits.countOf(this.#at);
    return { block: this.#at, visit, branch: this.branch };
  }

  get returnStack(): string[] {
    return this.#memory.returnStack;
  }

  get visits(): Record<string, number> {
    return this.#limits.counts();
  }

  get tree(): string | null {
    return this.#tree;
  }

  get segmentCount(): number {
    return this.#memory.length;
  }

  seen(): Seen {
    return this.#memory.seen();
  }

  isApplied(segmentId: string): boolean {
    return this.#applied.has(segmentId);
  }

  takeVisit(outcome: VisitOutcome): void {
    if (this.#command.do !== 'visit') throw new TypeError('no visit is under way');
    const { order } = this.#command;
    this.#log?.visited(order, outcome);
    this.#passed = 0;
    this.#memory.add(...outcome.segments);
    for (const id of outcome.applied ?? []) this.#applied.add(id);
    this.#tree = outcome.tree ?? this.#tree;
    this.checkpoint = outcome.checkpoint ?? this.checkpoint;
    this.#stepping = outcome.stepping ?? this.#stepping;
    this.#exhausted = outcome.exhausted;
    if (outcome.spent) this.#spent.set(accountIn(order, outcome), outcome.spent);
    const isAgain = outcome.kind === 'lost' && !this.#lost.has(visitOf(order));
    if (outcome.kind !== 'parked' && !isAgain) this.#limits.count(order);
    this.#command = this.#after(order, outcome);
  }

  takeAnswer(answer: Answer | undefined): void {
    const resume = this.#resume;
    if (this.#command.do !== 'ask' || !resume) throw new TypeError('no question is open');
    const { halt } = this.#command;
    if (answer) this.#heed(answer, halt);
    this.#command = answer ? this.#answered(answer, halt, resume) : resume();
  }

  takeJoin(join: JoinOutcome): void {
    if (this.#command.do !== 'fork') throw new TypeError('no fork is under way');
    const { order } = this.#command;
    // Joined again: what the branches said is known.
    const news = order.again === undefined ? order.branches : [];
    news.forEach(({ node, branch }, index) => {
      const end = join.ends[index] ?? null;
      if (end) this.#merge(branch, end);
      const place = { block: order.block, visit: order.visit, branch: this.branch, timestamp: join.at };
      const content = { node, signal: end?.signal ?? null };
      this.#memory.add({ ...place, id: `${order.key}/${branch}`, type: 'FORK_RESULT', content });
    });
    this.#tree = join.tree ?? this.#tree;
    this.checkpoint = join.checkpoint ?? this.checkpoint;
    this.#exhausted = join.exhausted;
    this.#command = this.#joined(order, join);
  }

  #enter(block: string, isApproved = false): Command {
    this.#memory.moveTo(block);
    this.#at = block;
    this.#passed += 1;
    const visit = this.#limits.countOf(block) + 1;
    const about = { visit, resume: () => this.#enterAnyway(block) };
    if (this.#passed > 1_000) {
      return this.#halt('no_progress', { ...about, message: 'Actions lead in a circle in which no block may run.' });
    }
    if (this.#limits.isSpent(block)) {
      const message = `${block} was visited ${visit - 1} times, its limit.`;
      return this.#raise('SIGNAL:VISITS_EXHAUSTED', visit) ?? this.#halt('visits_exhausted', { ...about, message });
    }
    const what = this.#exhausted;
    if (what !== undefined) {
      const raised = this.#raiseExhausted(visit);
      return (
        raised ?? this.#halt('budget_exhausted', { ...about, message: `The budget of the run is used up: ${what}.` })
      );
    }
    if (!isApproved && (this.#stepping || this.#block(block).def.approve === true)) {
      return this.#halt('awaiting_approval', { ...about, message: `${shortName(block)} is next.` });
    }
    return this.#visit({ block, visit });
  }

  /** A person wants it: one more visit than allowed, and the run's budget once more. */
  #enterAnyway(block: string): Command {
    this.#limits.grantVisit(block);
    if (this.#exhausted !== undefined) this.#limits.grantBudget('');
    this.#exhausted = undefined;
    this.#passed = 0;
    return this.#enter(block, true);
  }

  #visit({ block, visit }: Place, more: { part: number; jobId?: string } = { part: 1 }): Command {
    const key = `${this.branch}/${block}#${visit}${more.part > 1 ? `~${more.part}` : ''}`;
    this.#ordered += 1;
    const order = { key, block, visit, n: this.#ordered, ...more, grants: this.#limits.grantsOf(block) };
    return { do: 'visit', order };
  }

  #after({ block, visit, part }: VisitOrder, outcome: VisitOutcome): Command {
    const about = { visit, resume: () => this.#enterAnyway(block) };
    switch (outcome.kind) {
      case 'done':
        return this.#done({ block, visit }, outcome);
      case 'crashed':
        return this.#halt('worker_crashed', { ...about, message: outcome.message, excerpt: outcome.stack });
      case 'stopped':
        return this.#halt(outcome.reason, { ...about, message: outcome.message });
      case 'lost':
        return this.#again({ block, visit }, { part, message: outcome.message });
      case 'interrupted':
        this.#lastSignal = null;
        return this.#raiseExhausted(visit) ?? this.#haltSpent({ block, visit }, outcome.what);
      case 'parked': {
        const { message, resumeAt, jobId } = outcome;
        const resume = () => this.#visit({ block, visit }, { part: part + 1, ...(jobId !== undefined && { jobId }) });
        return this.#halt('rate_limit', { visit, message, resume, ...(resumeAt !== undefined && { resumeAt }) });
      }
    }
  }

  /** Once more for each visit: what loses host after host is for a person. */
  #again(at: Place, { part, message }: { part: number; message: string }): Command {
    const resume = () => this.#enterAnyway(at.block);
    if (this.#lost.has(visitOf(at))) return this.#halt('host_lost', { visit: at.visit, message, resume });
    this.#lost.add(visitOf(at));
    return this.#visit(at, { part: part + 1 });
  }

  #haltSpent(at: Place, what: string): Command {
    const resume = () => {
      this.#limits.grantBudget(at.block);
      return this.#enterAnyway(at.block);
    };
    return this.#halt('budget_exhausted', {
      visit: at.visit,
      resume,
      message: `${shortName(at.block)} used up its budget: ${what}.`,
    });
  }

  #done(at: Place, outcome: Extract<VisitOutcome, { kind: 'done' }>): Command {
    this.#lastSignal = outcome.signal;
    if (!this.#isStuck(at.block, outcome)) return this.#follow(at, outcome.signal);
    const message = `${shortName(at.block)} failed twice in a row, and no file changed in between.`;
    const resume = () => this.#follow(at, outcome.signal);
    return this.#halt('no_progress', { visit: at.visit, message, excerpt: this.#memory.excerpt(at), resume });
  }

  /** The same gate failed again on the same tree: nothing was fixed. */
  #isStuck(block: string, { signal, tree, gate }: Extract<VisitOutcome, { kind: 'done' }>): boolean {
    if (this.#block(block).gate === undefined || gate === undefined) return false;
    const last = this.#failedOn.get(block);
    if (signal === SUCCESS || tree === undefined) this.#failedOn.delete(block);
    else this.#failedOn.set(block, tree);
    return signal !== SUCCESS && tree !== undefined && last === tree;
  }

  #follow(at: Place, signal: string): Command {
    const transition = this.#choose(at, signal);
    if (transition) return this.#perform(at, transition, signal);
    const message = `${shortName(at.block)} ended with ${signal}, and the workflow does not say what follows.`;
    const about = { visit: at.visit, message, excerpt: this.#memory.excerpt(at) };
    return this.#halt('unmatched_signal', { ...about, resume: () => this.#enterAnyway(at.block) });
  }

  /** A signal of the engine; nothing when the block has no transition for it. */
  #raise(signal: EngineSignal, visit: number, block = this.#at): Command | undefined {
    const transition = this.#choose({ block, visit }, signal);
    return transition && this.#perform({ block, visit }, transition, signal);
  }

  /** The transition's target may run. If it spends more, the signal comes again. */
  #raiseExhausted(visit: number): Command | undefined {
    if (!this.#choose({ block: this.#at, visit }, 'SIGNAL:BUDGET_EXHAUSTED')) return undefined;
    this.#exhausted = undefined;
    return this.#raise('SIGNAL:BUDGET_EXHAUSTED', visit);
  }

  #perform(at: Place, transition: ReadTransition, signal: string): Command {
    const bound = bindArgs(transition, () => this.#scope(at));
    if ('missing' in bound) {
      const message = `The argument "${bound.missing.to}" has no value: ${bound.missing.from} is null.`;
      return this.#halt('bind_missing', { visit: at.visit, message, resume: () => this.#enterAnyway(at.block) });
    }
    return this.#act({ at, signal, transition, action: transition.action, values: bound.values });
  }

  #act(move: Move): Command {
    const { at, signal, action, values } = move;
    if (action.do === 'halt') return this.#flag(at, signal);
    if (action.do === 'return') return this.#return(at, signal, values);
    if (action.do === 'fork') return this.#fork(at, { ...move, action });
    const target = this.#entryOf(action.do === 'jump' ? action.to : action.node);
    if (action.do === 'call' && this.#memory.depth >= MOST_CALLS) {
      const message = `${at.block} calls more than ${MOST_CALLS} deep.`;
      return this.#halt('stack_overflow', { visit: at.visit, message, resume: () => this.#enterAnyway(at.block) });
    }
    this.#log?.moved(at.block, target, signal);
    if (action.do === 'jump') {
      this.#memory.bind(values);
      return this.#enter(target);
    }
    const address = action.returnTo ?? this.#block(at.block).def.returns_to;
    const returnTo = address === undefined ? { caller: at.block, visit: at.visit } : { block: this.#entryOf(address) };
    this.#memory.push(action.node, values, returnTo);
    return this.#enter(target);
  }

  #flag(at: Place, signal: string): Command {
    const resume = () => this.#raise('SIGNAL:RESUMED', at.visit, at.block) ?? this.#enterAnyway(at.block);
    const isAgent = this.#block(at.block).def.worker.startsWith('Agent:');
    const told = { fault: this.#memory.firstFault(at), hasFailed: this.#memory.hasFailed(at) };
    const message = haltWords({ ...at, signal, isAgent, ...told });
    this.#at = at.block;
    return this.#halt('halted_by_workflow', { visit: at.visit, message, excerpt: this.#memory.excerpt(at), resume });
  }

  #return(at: Place, signal: string, values: Record<string, Json>): Command {
    const { returnTo } = this.#memory.top;
    if (returnTo === undefined) {
      this.#log?.moved(at.block, 'RETURN', signal);
      return this.#end(this.#lastSignal === SUCCESS ? 'success' : 'failure');
    }
    this.#memory.pop(values);
    const block = 'block' in returnTo ? returnTo.block : returnTo.caller;
    this.#log?.moved(at.block, block, signal);
    if ('block' in returnTo) return this.#enter(block);
    this.#at = block;
    return this.#raise('SIGNAL:RETURNED', returnTo.visit) ?? this.#enter(block);
  }

  #fork(at: Place, { action, transition, values }: Move & { action: Extract<Action, { do: 'fork' }> }): Command {
    const { join, isolation } = transition;
    const born = {
      ...this.#memory.legacy(),
      args: values,
      visits: this.visits,
      applied: [...this.#applied],
      stepping: this.#stepping,
      tree: this.#tree,
    };
    const key = `${this.branch}/${at.block}#${at.visit}/fork-${this.#branches + 1}`;
    const branches = action.nodes.map((node) => ({ ...born, node, branch: `${this.branch}.${++this.#branches}` }));
    const joinTo = action.joinTo === undefined ? {} : { joinTo: action.joinTo };
    const grants = this.#limits.grantsOf(at.block).run;
    return {
      do: 'fork',
      order: { key, block: at.block, visit: at.visit, join, isolation, ...joinTo, grants, branches },
    };
  }

  #merge(branch: string, end: BranchEnd): void {
    this.#spent.set(branch, end.spent);
    this.#memory.add(...end.segments);
    for (const id of end.applied) this.#applied.add(id);
    this.#limits.add(end.visits);
  }

  #joined(order: ForkOrder, { ends, conflict, failure }: JoinOutcome): Command {
    const { block, visit, join, joinTo } = order;
    if (ends.some((end) => end?.outcome === 'aborted')) return this.#end('aborted');
    this.#at = block;
    const onward = () => this.#onward({ block, visit }, joinTo);
    if (conflict) {
      const { branch, files, path = 'its worktree' } = conflict;
      const message = [
        `The work of ${branch} conflicts with that of the branches before it in ${files.join(', ')}.`,
        `To join it, make these files agree here and in ${path}, then resume. Skip goes on without what was not joined yet.`,
      ].join(' ');
      const resume = (): Command => ({ do: 'fork', order: { ...order, again: (order.again ?? 0) + 1 } });
      return this.#halt('fork_conflict', { visit, message, files, resume, skip: onward });
    }
    const isGood = (end: BranchEnd | null) => end?.outcome === 'success';
    const succeeded = failure === undefined && (join === 'all' ? ends.every(isGood) : ends.some(isGood));
    this.#lastSignal = succeeded ? SUCCESS : null;
    if (succeeded) return onward();
    const about = {
      visit,
      message: failure ?? 'A branch ended without success.',
      resume: () => this.#enterAnyway(block),
    };
    return this.#raise('SIGNAL:FORK_FAILED', visit) ?? this.#halt('fork_failed', about);
  }

  #onward(at: Place, joinTo: string | undefined): Command {
    if (joinTo === undefined) return this.#follow(at, 'SIGNAL:JOINED');
    this.#log?.moved(at.block, joinTo, 'SIGNAL:JOINED');
    return this.#enter(joinTo);
  }

  #end(outcome: BranchEnd['outcome']): Command {
    return {
      do: 'end',
      end: {
        outcome,
        signal: this.#lastSignal,
        segments: this.#memory.made(),
        visits: this.#limits.countsSince(this.#start.visits),
        applied: [...this.#applied].slice(this.#start.applied.length),
        tree: this.#tree,
        spent: sumAmounts(this.#spent.values()),
      },
    };
  }

  #halt(reason: string, { resume, skip, excerpt, ...about }: About): Command {
    this.#halts += 1;
    this.#resume = resume;
    this.#skip = skip;
    const halt: Halt = {
      key: `${this.branch}/halt-${this.#halts}`,
      reason,
      block: this.#at,
      branch: this.branch,
      ...about,
      ...(excerpt !== undefined && { excerpt }),
      options: reason === 'awaiting_approval' ? ['approve', 'skip', 'abort'] : EVERY_VERB,
    };
    const until = reason === 'rate_limit' && this.#rules.autoResume ? halt.resumeAt : undefined;
    return { do: 'ask', halt, ...(until !== undefined && { until }) };
  }

  /** What a person says becomes memory, and "twice in a row" starts anew. */
  #heed({ guidance, at, step }: Answer, { key, block, visit, branch }: Halt): void {
    this.#failedOn.clear();
    this.#stepping = step ?? this.#stepping;
    if (guidance === undefined) return;
    const place = { block, visit, branch, timestamp: at };
    this.#memory.add({ ...place, id: `${key}/guidance`, type: 'HUMAN_GUIDANCE', content: guidance });
  }

  #answered(answer: Answer, { reason, block, visit }: Halt, resume: Resume): Command {
    switch (answer.verb) {
      case 'abort':
        return this.#end('aborted');
      case 'skip': {
        if (this.#skip) return this.#skip();
        const signal = answer.signal ?? SUCCESS;
        this.#limits.count({ block, visit });
        this.#lastSignal = signal;
        this.#log?.skipped({ block, visit, branch: this.branch }, signal);
        return this.#follow({ block, visit }, signal);
      }
      case 'retry':
        if (reason === 'rate_limit') this.#limits.count({ block, visit }); // the parked visit ends; the next is a new one
        return reason === 'budget_exhausted' ? resume() : this.#enterAnyway(block);
      case 'approve':
      case 'resume':
        return resume();
    }
  }

  #choose(at: Place, signal: string): ReadTransition | undefined {
    return chooseTransition(this.#block(at.block), signal, () => this.#scope(at));
  }

  #scope(at: Place): Scope {
    return this.#memory.scope(at, this.#limits.countOf(at.block));
  }

  #block(id: string): ReadBlock {
    const known = this.#blocks.get(id);
    if (known) return known;
    const block = readBlock(this.#rules.manifest, id);
    this.#blocks.set(id, block);
    return block;
  }

  #entryOf(target: string): string {
    return this.#rules.manifest.nodes[target]?.entry_block ?? target;
  }
}

const visitOf = ({ block, visit }: Place) => `${block}#${visit}`;

interface Move {
  at: Place;
  signal: string;
  action: Action;
  transition: ReadTransition;
  values: Record<string, Json>;
}
