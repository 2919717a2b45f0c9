import { PassThrough } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { ViKeys } from './vi-keys.ts';

const INTERRUPT = 0x03;
const END = '\u0004';
const EDIT = '\u000f';
const RETURN = '\r';
const [PASTE_BEGINS, PASTE_ENDS] = ['\u001b[200~', '\u001b[201~'];
/** What one key sends; a key that comes in pieces is several. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what keys send
const KEY = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Z]|[^\u001b[O])|[\s\S]/gu;
/** Nobody types these: in a pasted text they would act on the terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are removed
const ACTS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** How a line was ended: sent, or taken to the editor. */
export type LineEnd = 'sent' | 'edit';

interface Listeners {
  /** Whether anything has been typed: only then Ctrl-D deletes. */
  isLineEmpty(): boolean;
  /** Ctrl-D. */
  onEnd(): void;
  /** There is no keyboard any more. */
  onLost(): void;
  onInterrupt(): void;
  /** True: the key has done what it does, and readline does not get it. */
  onKey(key: string): boolean;
  /** A text that was pasted, with its line breaks. */
  onPaste(text: string): void;
}

interface RawInput extends NodeJS.ReadableStream {
  setRawMode?(isRaw: boolean): unknown;
}

/**
 * The keyboard as readline gets it, key by key: what one does may depend on the line as the one before left it. While nobody reads
 * lines, what is typed waits, and only Ctrl-C has an effect.
 */
export class KeyStream extends PassThrough {
  readonly isTTY = true;
  readonly #input: RawInput;
  readonly #listeners: Listeners;
  readonly #vi: ViKeys | undefined;
  readonly #decoder = new StringDecoder();
  #held: Buffer[] | undefined = [];
  #pasted: string | undefined;
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
    const keys = this.#decoder.write(bytes).match(KEY) ?? [];
    for (const key of keys) {
      if (this.#held) this.#take(key);
      else this.#key(key);
    }
  }

  #key(key: string): void {
    if (key === PASTE_BEGINS) this.#pasted = '';
    else if (this.#pasted === undefined) this.#pressed(key);
    else if (key === PASTE_ENDS) {
      const text = this.#pasted;
      this.#pasted = undefined;
      this.#listeners.onPaste(text.replace(/\r\n?/g, '\n').replace(ACTS, ''));
    } else this.#pasted += key;
  }

  #pressed(typed: string): void {
    const keys = this.#vi?.translate(Buffer.from(typed)).toString().match(KEY) ?? (this.#vi ? [] : [typed]);
    for (const key of keys) {
      if (this.#listeners.onKey(key)) continue;
      if (key === END && this.#listeners.isLineEmpty()) this.#listeners.onEnd();
      else if (key === RETURN || key === EDIT) {
        this.#ends.push(key === EDIT ? 'edit' : 'sent');
        this.emit('data', Buffer.from(RETURN));
      } else this.emit('data', Buffer.from(key));
    }
  }
}
