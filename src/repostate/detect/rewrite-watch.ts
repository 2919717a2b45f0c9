import { ReefError } from '../../protocol/errors.ts';
import type { Tell } from './progress-watch.ts';

const NEAR = 0.9;
/** The first write, of something new, counts as well. */
const REFUSE_AT = 4;

/** The contents of so many files are remembered. */
const MOST_FILES = 200;

/** Detects a file that is written again and again with almost the same content, by whatever means. */
export class RewriteWatch {
  readonly #tell: Tell;
  /** By path, how many times in a row this job wrote nearly the same lines. */
  readonly #writes = new Map<string, number>();
  /** What this job last wrote. */
  readonly #contents = new Map<string, string>();
  #turn = 0;
  /** What this turn did: wrote a file once more almost unchanged, and wrote one that is new or mostly changed. */
  #hasCircled = false;
  #hasMoved = false;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  beginTurn(turn: number): void {
    this.#turn = turn;
    this.#hasCircled = false;
    this.#hasMoved = false;
  }

  /** The turn changed nothing but a few lines of files that were written before. */
  get isCircling(): boolean {
    return this.#hasCircled && !this.#hasMoved;
  }

  /** A failing check is a reason to write again, so every count starts over. */
  checkFailed(): void {
    for (const path of this.#writes.keys()) this.#writes.set(path, 1);
  }

  wrote(path: string, content: string): void {
    if (!this.#writes.has(path)) {
      this.#writes.set(path, 1);
      this.#hasMoved = true;
    }
    this.#contents.delete(path);
    this.#contents.set(path, content);
    const [oldest = ''] = this.#contents.keys();
    if (this.#contents.size > MOST_FILES) this.#contents.delete(oldest);
  }

  /** Call before a write that replaces a file. Returns a remark for the result, or throws to prevent the write. */
  judge(path: string, before: string, after: string): string | undefined {
    const found = this.#compare(path, before, after);
    if (!found) return undefined;
    const { nth, added, removed, evidence } = found;
    const isRefused = nth >= REFUSE_AT;
    this.#detected(isRefused ? 'refused' : 'told', evidence);
    if (!isRefused) return `Only +${added} −${removed} lines differ from what was there: use edit_file.`;
    const message = `${path} would be written for the ${nth}th time almost unchanged.`;
    throw new ReefError('rewrite_loop', message, { details: evidence });
  }

  /** Call after a command has written a file, with what is in it now: it can only be remarked on. */
  judgeWritten(path: string, after: string): string | undefined {
    const before = this.#contents.get(path);
    const found = before === undefined ? undefined : this.#compare(path, before, after);
    this.wrote(path, after);
    if (!found) return undefined;
    this.#detected('told', found.evidence);
    return `${path} was written for the ${found.nth}th time almost unchanged (+${found.added} −${found.removed} lines): use edit_file.`;
  }

  #compare(path: string, before: string, after: string) {
    const writes = this.#writes.get(path);
    const { shared, added, removed } = compareLines(before, after);
    if (writes === undefined || shared < NEAR) {
      this.#writes.set(path, 1);
      this.#hasMoved = true;
      return undefined;
    }
    const nth = writes + 1;
    this.#writes.set(path, nth);
    if (nth >= REFUSE_AT) this.#hasCircled = true;
    return { nth, added, removed, evidence: { path, nth, shared: Math.round(shared * 100) / 100, added, removed } };
  }

  #detected(action: 'refused' | 'told', evidence: Record<string, unknown>): void {
    this.#tell({ kind: 'repostate.detected', detector: 'rewrite', action, turn: this.#turn, evidence });
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
