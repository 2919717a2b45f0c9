import { ReefError } from '../../protocol/errors.ts';
import { detected, type Tell } from './detection.ts';

const NEAR = 0.9;
/** Counting the first, which wrote something new. */
const REFUSE_AT = 4;

/** Notices a file that is written again and again almost as it was. */
export class RewriteWatch {
  readonly #tell: Tell;
  /** How often this job wrote a file in a row with nearly the same lines; a failing check begins anew. */
  readonly #writes = new Map<string, number>();
  #turn = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  beginTurn(turn: number): void {
    this.#turn = turn;
  }

  /** A failing check is a reason to write again. */
  checkFailed(): void {
    for (const path of this.#writes.keys()) this.#writes.set(path, 1);
  }

  /** This job made the file. */
  wrote(path: string): void {
    if (!this.#writes.has(path)) this.#writes.set(path, 1);
  }

  /** Called before a replacing write. A remark goes with the result; a refusal is thrown and nothing is written. */
  judge(path: string, before: string, after: string): string | undefined {
    const writes = this.#writes.get(path);
    const shared = sharedLines(before, after);
    if (writes === undefined || shared < NEAR) {
      this.#writes.set(path, 1);
      return undefined;
    }
    const nth = writes + 1;
    this.#writes.set(path, nth);
    const evidence = { path, nth, shared: Math.round(shared * 100) / 100, ...diffstat(before, after) };
    const isRefused = nth >= REFUSE_AT;
    this.#tell(detected('rewrite', { action: isRefused ? 'refused' : 'told', turn: this.#turn, evidence }));
    if (!isRefused)
      return `Only +${evidence.added} −${evidence.removed} lines differ from what was there: use edit_file.`;
    const message = `${path} would be written for the ${nth}th time almost unchanged.`;
    throw new ReefError('rewrite_loop', message, { details: evidence });
  }
}

/** Dice of the two multisets of lines: 1 is the same lines in any order. */
export function sharedLines(before: string, after: string): number {
  const [one, other] = [before.split('\n'), after.split('\n')];
  return (2 * commonLines(one, other)) / (one.length + other.length);
}

function diffstat(before: string, after: string): { added: number; removed: number } {
  const [one, other] = [before.split('\n'), after.split('\n')];
  const common = commonLines(one, other);
  return { added: other.length - common, removed: one.length - common };
}

function commonLines(one: readonly string[], other: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const line of one) counts.set(line, (counts.get(line) ?? 0) + 1);
  let common = 0;
  for (const line of other) {
    const left = counts.get(line) ?? 0;
    if (left === 0) continue;
    counts.set(line, left - 1);
    common++;
  }
  return common;
}
