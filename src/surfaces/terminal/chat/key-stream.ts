import { PassThrough } from 'node:stream';
import { ViKeys } from './vi-keys.ts';

const INTERRUPT = 0x03;
const END = 0x04;
const NEWLINE = 0x0a;
const EDIT = 0x0f;
const RETURN = Buffer.from('\r');

/** How a line was ended: sent, followed by another, or taken to the editor. */
export type LineEnd = 'sent' | 'more' | 'edit';

interface Listeners {
  /** Whether anything has been typed: only then Ctrl-D deletes. */
  isLineEmpty(): boolean;
  /** Ctrl-D. */
  onEnd(): void;
  /** There is no keyboard any more. */
  onLost(): void;
  onInterrupt(): void;
}

interface RawInput extends NodeJS.ReadableStream {
  setRawMode?(isRaw: boolean): unknown;
}

/**
 * The keyboard as readline gets it. Keys that readline does not know end the line, and `nextEnd` tells which. While nobody
 * reads lines, what is typed waits, and only Ctrl-C has an effect.
 */
export class KeyStream extends PassThrough {
  readonly isTTY = true;
  readonly #input: RawInput;
  readonly #listeners: Listeners;
  readonly #vi: ViKeys | undefined;
  #held: Buffer[] | undefined = [];
  #ends: LineEnd[] = [];

  constructor(input: RawInput, options: Listeners & { isVi: boolean }) {
    super();
    this.#input = input;
    this.#listeners = options;
    this.#vi = options.isVi ? new ViKeys() : undefined;
    input.on('data', this.#take);
    input.on('end', options.onLost);
    input.on('error', options.onLost);
  }

  setRawMode(isRaw: boolean): this {
    this.#input.setRawMode?.(isRaw);
    return this;
  }

  nextEnd(): LineEnd {
    return this.#ends.shift() ?? 'sent';
  }

  /** Somebody reads lines again. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.#forward(bytes);
  }

  hold(): void {
    this.#held ??= [];
  }

  /** Leaves the terminal to another program while it runs. */
  async lent<T>(work: () => Promise<T>): Promise<T> {
    this.#input.pause();
    this.setRawMode(false);
    try {
      return await work();
    } finally {
      this.setRawMode(true);
      this.#input.resume();
    }
  }

  detach(): void {
    this.#input.off('data', this.#take);
    this.#input.pause();
  }

  readonly #take = (chunk: Buffer | string): void => {
    const bytes = Buffer.from(chunk);
    if (this.#held === undefined) this.#forward(bytes);
    else if (bytes.includes(INTERRUPT)) {
      this.#held = [];
      this.#listeners.onInterrupt();
    } else this.#held.push(bytes);
  };

  #forward(bytes: Buffer): void {
    let from = 0;
    for (let at = 0; at < bytes.length; at++) {
      const special = this.#special(bytes[at] ?? 0, from === at);
      if (special === undefined) continue;
      this.#pass(bytes.subarray(from, at));
      if (special !== 'swallowed') {
        this.#ends.push(special);
        this.write(RETURN);
      } else this.#listeners.onEnd();
      from = at + 1;
    }
    this.#pass(bytes.subarray(from));
  }

  #special(byte: number, isFirst: boolean): LineEnd | 'swallowed' | undefined {
    if (byte === 0x0d) return 'sent';
    if (byte === NEWLINE) return 'more';
    if (byte === EDIT) return 'edit';
    return byte === END && isFirst && this.#listeners.isLineEmpty() ? 'swallowed' : undefined;
  }

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.write(this.#vi?.translate(bytes) ?? bytes);
  }
}
