import type { RepoState } from '../../protocol/repostate.ts';
import { detected, type Tell } from './detection.ts';

export type Verdict =
  | { is: 'going' }
  | { is: 'remind'; text: string }
  | { is: 'ask'; question: string; options: string[] }
  | { is: 'complete' };

interface TurnFacts {
  turn: number;
  state: Readonly<RepoState>;
  /** Files or ranges read for the first time in this turn. */
  hasNewReading: boolean;
  /** Names of checks that must be green. */
  required: readonly string[];
}

const STALL = 8;
const ASK = 16;
const REVISITS = 3;
const GRACE = 3;
const MET = 'All criteria are met: call done.';

/** Notices that nothing moves any more, and that all there was to do is done. */
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

  /** After each turn. */
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
    this.#tell(detected('stop_criterion', { action: isOver ? 'ended' : 'reminded', turn, evidence }));
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
      this.#tell(detected('stall', { action: 'asked', turn, evidence }));
      const question = `Nothing has changed for ${idle} turns. How should it go on?`;
      return { is: 'ask', question, options: ['continue', 'finish', 'stop'] };
    }
    if (idle === STALL || visits === REVISITS) {
      this.#tell(detected('stall', { action: 'reminded', turn, evidence }));
      return { is: 'remind', text: `No progress for ${idle} turns: take the next open task, or call done.` };
    }
    return { is: 'going' };
  }

  /** How often the tree came back to this state after having been another; only the moment it does counts. */
  #visit(fingerprint: string): number {
    if (fingerprint === this.#fingerprint) return 0;
    this.#fingerprint = fingerprint;
    const visits = (this.#visits.get(fingerprint) ?? 0) + 1;
    this.#visits.set(fingerprint, visits);
    return visits - 1;
  }

  /** Something that never was before: a state of the tree, a check turned green, a todo step, a new reading. */
  #hasMoved({ state, hasNewReading }: TurnFacts): boolean {
    const marks = [
      `tree ${state.fingerprint}`,
      ...state.checks.filter(({ ok }) => ok).map(({ name }) => `check ${name}`),
      ...state.openTasks.map(({ id, status }) => `task ${id} ${status}`),
    ];
    const isNew = marks.some((mark) => !this.#marks.has(mark));
    for (const mark of marks) this.#marks.add(mark);
    return isNew || hasNewReading;
  }
}

/** There is something to measure by, and all of it holds for the tree as it is. */
function isDone(state: Readonly<RepoState>, required: readonly string[]): boolean {
  if (state.openTasks.length === 0 && required.length === 0) return false;
  const isGreen = (name: string) =>
    state.checks.some((check) => check.name === name && check.ok && check.fingerprint === state.fingerprint);
  return state.openTasks.every(({ status }) => status === 'completed') && required.every(isGreen);
}
