import type { Json } from '../../../src/protocol/workflow.ts';

/** What a durable run is, written down a second time: how far its program comes with what it has been given. */

export type Instruction =
  /** Held: it waits until somebody lets it go. */
  | { do: 'step'; key: string; held: boolean; fails: boolean }
  | { do: 'wait'; key: string }
  | { do: 'child'; key: string; program: Instruction[] };

type Given = { id: string; value: string };
export type Came =
  | { status: 'at work'; at: string }
  | { status: 'completed'; value: Json }
  | { status: 'failed' }
  | { status: 'cancelled'; reason: string };

class Stopped extends Error {}

export class RunModel {
  readonly program: Instruction[];
  readonly answers = new Map<string, Given>();
  readonly released = new Set<string>();
  #cancelled: string | undefined;
  #at = '';
  #effects: string[] = [];
  /** As far as it came before it was cancelled. */
  #before: string[] | undefined;

  constructor(program: Instruction[]) {
    this.program = program;
  }

  answer(key: string, given: Given): 'taken' | 'duplicate' | 'late' {
    const before = this.answers.get(key);
    if (before) return before.id === given.id ? 'duplicate' : 'late';
    if (this.came().status !== 'at work') return 'late';
    this.answers.set(key, given);
    return 'taken';
  }

  cancel(reason: string): void {
    if (this.came().status !== 'at work') return;
    this.#before = this.effects();
    this.#cancelled = reason;
  }

  /** A step's effect happens once, whatever was killed meanwhile. */
  effects(): string[] {
    if (this.#before) return this.#before;
    this.came();
    return this.#effects;
  }

  came(): Came {
    if (this.#cancelled !== undefined) return { status: 'cancelled', reason: this.#cancelled };
    this.#effects = [];
    try {
      return { status: 'completed', value: this.#play(this.program, '') };
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return this.#at === '' ? { status: 'failed' } : { status: 'at work', at: this.#at };
    }
  }

  #play(program: Instruction[], inside: string): Json[] {
    return program.map((each) => {
      const key = `${inside}${each.key}`;
      if (each.do === 'child') return this.#play(each.program, `${key}/`);
      if (each.do === 'wait') return this.answers.get(key)?.value ?? this.#stop(key);
      this.#effects.push(key);
      if (each.held && !this.released.has(key)) return this.#stop(key);
      return each.fails ? this.#stop('') : key;
    });
  }

  /** Nothing after this happens; without a place it is over. */
  #stop(at: string): never {
    this.#at = at;
    throw new Stopped();
  }
}
