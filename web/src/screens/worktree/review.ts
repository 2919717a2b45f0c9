import type { Signal } from '@preact/signals';
import type { ReviewComment } from '../../../../src/protocol/worktrees.ts';
import { draft } from '../../store/drafts.ts';
import type { FileDiff, Side } from './patch.ts';

export interface Comment extends ReviewComment {
  /** The line as it was seen. */
  quote: string;
}

export interface ReviewDraft {
  comments: readonly Comment[];
  /** About all of it. */
  text: string;
  /** The same for each try to send it, so that it arrives once. */
  key: string;
}

export interface Place {
  path: string;
  side: Side;
  line: number;
}

/** A review is one draft until it is sent: it outlives a reload, a lost connection and a refusal. */
export class Review {
  readonly #stored: Signal<string>;

  constructor(worktree: string) {
    this.#stored = draft(`review ${worktree}`);
  }

  get now(): ReviewDraft {
    try {
      const { comments = [], text = '', key = '' } = JSON.parse(this.#stored.value) as Partial<ReviewDraft>;
      return { comments, text, key };
    } catch {
      return { comments: [], text: '', key: '' };
    }
  }

  at({ path, side, line }: Place): Comment | undefined {
    return this.now.comments.find((each) => each.path === path && each.side === side && each.line === line);
  }

  /** In place of another at the same line. */
  put(comment: Comment): void {
    const others = this.now.comments.filter((each) => !isSame(each, comment));
    this.#keep({ comments: [...others, comment] });
  }

  remove(comment: Comment): void {
    this.#keep({ comments: this.now.comments.filter((each) => !isSame(each, comment)) });
  }

  say(text: string): void {
    this.#keep({ text });
  }

  clear(): void {
    this.#stored.value = '';
  }

  #keep(change: Partial<ReviewDraft>): void {
    const next = { ...this.now, ...change, key: crypto.randomUUID() };
    this.#stored.value = next.comments.length === 0 && next.text === '' ? '' : JSON.stringify(next);
  }
}

const isSame = (a: Place, b: Place) => a.path === b.path && a.side === b.side && a.line === b.line;

/** Whether the file is still the one that was commented on. */
export function isStale({ path, side, blob }: Comment, files: readonly FileDiff[]): boolean {
  const file = files.find((each) => each.path === path || (side === 'old' && each.from === path));
  return file?.blobs[side] !== blob;
}
