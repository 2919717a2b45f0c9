import { ReefError } from '../../protocol/errors.ts';
import type { Tell } from './progress-watch.ts';

const NEAR = 0.9;
/** The first write, of something new, counts as well. */
const REFUSE_AT = 4;

/** Detects a file that is written again and again with almost the same content. */
export class RewriteWatch {
  readonly #tell: Tell;
  /** By path, how many times in a row this job wrote nearly the same lines. */
  readonly #writes = new Map<string, number>();
  #turn = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  beginTurn(turn: number): void {
    this.#turn = turn;
  }

  /** A failing check is a reason to write again, so every count starts over. */
  checkFailed(): void {
    for (const path of this.#writes.keys()) this.#writes.set(path, 1);
  }

  wrote(path: string): void {
    if (!this.#writes.has(path)) this.#writes.set(path, 1);
  }

  /** Call before a write that replaces a file. Returns a remark for the result, or throws to prevent the write. */
  judge(path: string, before: string, after: string): string | undefined {
    const writes = this.#writes.get(path);
    const { shared, added, removed } = compareLines(before, after);
    if (writes === undefined || shared < NEAR) {
      this.#writes.set(path, 1);
      return undefined;
    }
    const nth = writes + 1;
    this.#writes.set(path, nth);
    const evidence = { path, nth, shared: Math.round(shared * 100) / 100, added, removed };
    const isRefused = nth >= REFUSE_AT;
    const action = isRefused ? 'refused' : 'told';
    this.#tell({ kind: 'repostate.detected', detector: 'rewrite', action, turn: this.#turn, evidence });
    if (!isRefused) return `Only +${added} −${removed} lines differ from what was there: use edit_file.`;
    const message = `${path} would be written for the ${nth}th time almost unchanged.`;
    throw new ReefError('rewrite_loop', message, { details: evidence });
  }
}

/** `shared` is the Dice coefficient of the two multisets of lines: 1 means the same lines in any order. */
export function compareLines(before: string, after: string): { shared: number; added: number; removed: number } {
  const [one, other] = [before.split('\n'), after.split('\n')];
  const counts = new Map<string, number>();
  for (const line of one) counts.set(line, (counts.get(line) ?? 0) + 1);
  let common = 0;
  for (const line of other) {
    const left = counts.get(line) ?? 0;
    if (left === 0) continue;
    counts.set(line, left - 1);
    common++;
  }
  const shared = (2 * common) / (one.length + other.length);
  return { shared, added: other.length - common, removed: one.length - common };
}
