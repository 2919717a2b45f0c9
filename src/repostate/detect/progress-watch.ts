import type { RepoState, StateNews } from '../../protocol/repostate.ts';

/** Reports each time a detector fires, with its evidence. */
export type Tell = (news: Extract<StateNews, { kind: 'repostate.detected' }>) => void;

export type Verdict =
  | { is: 'going' }
  | { is: 'remind'; text: string }
  | { is: 'ask'; question: string; options: string[] }
  | { is: 'complete' };

interface TurnFacts {
  turn: number;
  state: Readonly<RepoState>;
  /** The turn read a file or range for the first time. */
  hasNewReading: boolean;
  /** It only wrote files again that it had written before, almost unchanged: a new state of the tree is no progress then. */
  isCircling: boolean;
  /** Names of the checks that must pass. */
  required: readonly string[];
}

const STALL = 8;
const ASK = 16;
const REVISITS = 3;
const GRACE = 3;
const MET = 'All criteria are met: call done.';

/** Detects that a job makes no progress any more, and that its work is complete. */
export class ProgressWatch {
  readonly #tell: Tell;
  readonly #visits = new Map<string, number>();
  #fingerprint: string | undefined;
  #marks = new Set<string>();
  #lastProgress: number | undefined;
  #asked: number | undefined;
  #metSince: number | undefined;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  judge(facts: TurnFacts): Verdict {
    return this.#judgeStop(facts) ?? this.#judgeStall(facts);
  }

  #judgeStop({ turn, state, required }: TurnFacts): Verdict | undefined {
    if (!isDone(state, required)) {
      this.#metSince = undefined;
      return undefined;
    }
    this.#metSince ??= turn;
    const evidence = { since: this.#metSince, fingerprint: state.fingerprint };
    const isOver = turn - this.#metSince >= GRACE;
    const action = isOver ? 'ended' : 'reminded';
    this.#tell({ kind: 'repostate.detected', detector: 'stop_criterion', action, turn, evidence });
    return isOver ? { is: 'complete' } : { is: 'remind', text: MET };
  }

  #judgeStall(facts: TurnFacts): Verdict {
    const { turn, state } = facts;
    const visits = this.#visit(state.fingerprint);
    if (this.#hasMoved(facts)) this.#lastProgress = turn;
    this.#lastProgress ??= turn;
    const idle = turn - this.#lastProgress;
    const evidence = { idleTurns: idle, fingerprint: state.fingerprint, visits };
    if (idle >= ASK && this.#asked !== this.#lastProgress) {
      this.#asked = this.#lastProgress;
      this.#tell({ kind: 'repostate.detected', detector: 'stall', action: 'asked', turn, evidence });
      const question = `Nothing has changed for ${idle} turns. How should it go on?`;
      return { is: 'ask', question, options: ['continue', 'finish', 'stop'] };
    }
    if (idle === STALL || visits === REVISITS) {
      this.#tell({ kind: 'repostate.detected', detector: 'stall', action: 'reminded', turn, evidence });
      return { is: 'remind', text: `No progress for ${idle} turns: take the next open task, or call done.` };
    }
    return { is: 'going' };
  }

  /** How often the tree returned to this state from another one. 0 while it stays the same. */
  #visit(fingerprint: string): number {
    if (fingerprint === this.#fingerprint) return 0;
    this.#fingerprint = fingerprint;
    const visits = (this.#visits.get(fingerprint) ?? 0) + 1;
    this.#visits.set(fingerprint, visits);
    return visits - 1;
  }

  /** Progress is something new: a state of the tree, a check that passes, a step of a task, a new reading. */
  #hasMoved({ state, hasNewReading, isCircling }: TurnFacts): boolean {
    const tree = `tree ${state.fingerprint}`;
    if (isCircling) this.#marks.add(tree);
    const marks = [
      tree,
      ...state.checks.filter(({ ok }) => ok).map(({ name }) => `check ${name}`),
      ...state.openTasks.map(({ id, status }) => `task ${id} ${status}`),
    ];
    const isNew = marks.some((mark) => !this.#marks.has(mark));
    for (const mark of marks) this.#marks.add(mark);
    return isNew || hasNewReading;
  }
}

/** There are criteria, and the current tree meets all of them. */
function isDone(state: Readonly<RepoState>, required: readonly string[]): boolean {
  if (state.openTasks.length === 0 && required.length === 0) return false;
  const isGreen = (name: string) =>
    state.checks.some((check) => check.name === name && check.ok && check.fingerprint === state.fingerprint);
  return state.openTasks.every(({ status }) => status === 'completed') && required.every(isGreen);
}
