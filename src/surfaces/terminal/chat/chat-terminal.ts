import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { ReefError } from '../../../protocol/errors.ts';
import type { AnswerScreen, Size } from '../answer/answer-view.ts';
import type { Host } from '../cli.ts';
import type { Person } from '../prompt/person.ts';
import { KeyStream, type LineEnd } from './key-stream.ts';
import { LineHistory } from './line-history.ts';
import { PromptKeys } from './prompt-keys.ts';

interface ChatTerminalOptions {
  host: Host;
  isVi: boolean;
  history: string[];
  complete(line: string): Promise<[string[], string]>;
}

interface Entry {
  text: string;
  end: LineEnd;
}

/** Passes on what is written, except while a secret is typed. */
class Screen extends Writable {
  isMuted = false;
  readonly #out: Host['stdout'];

  constructor(out: Host['stdout']) {
    super();
    this.#out = out;
    out.on('resize', () => this.emit('resize'));
    // The keyboard notices that the terminal is gone. Nobody is left to read an error.
    out.removeAllListeners('error').on('error', () => {
      this.isMuted = true;
    });
  }
  get columns(): number {
    return this.#out.columns ?? 80;
  }
  /** As it is now: the property `columns` is only as new as the last signal. */
  get size(): Size | undefined {
    const [columns, rows] = this.#out.getWindowSize?.() ?? [];
    return columns && rows ? { columns, rows } : undefined;
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) this.#out.write(chunk);
    done();
  }
}

/** The terminal of a chat: lines, questions, secrets, and Ctrl-C while something runs. */
export class ChatTerminal implements Person, AnswerScreen {
  /** Called before somebody else than the answer writes. */
  onInterlude: (() => void) | undefined;
  readonly #screen: Screen;
  readonly #keys: KeyStream;
  readonly #readline: Interface;
  readonly #history: LineHistory;
  readonly #prompt: PromptKeys;
  #waiting: ((entry: Entry | undefined) => void) | undefined;
  readonly #ready: Entry[] = [];
  readonly #isTerminal: boolean;
  #isLost = false;
  #isLent = false;
  /** The beginning of a line that was written while a question waits. */
  #held = '';
  #running: AbortController | undefined;

  constructor({ host, isVi, history, complete }: ChatTerminalOptions) {
    this.#screen = new Screen(host.stdout);
    this.#history = new LineHistory(history);
    this.#isTerminal = host.stdin.isTTY === true;
    this.#keys = new KeyStream(host.stdin, {
      isVi,
      isLineEmpty: () => this.#readline.line === '',
      onEnd: () => this.#settle(undefined),
      onLost: () => this.hangUp(),
      onInterrupt: () => this.interrupt(),
      onKey: (key) => this.#prompt.take(key),
      onPaste: (text) => this.#prompt.paste(text),
    });
    this.#readline = createInterface({
      input: this.#keys,
      output: this.#screen,
      terminal: true,
      // Its own knows no line breaks, and no search.
      historySize: 0,
      completer: (line: string, done: (error: Error | null, found: [string[], string]) => void) => {
        complete(line).then(
          (found) => done(null, found),
          () => done(null, [[], line]),
        );
      },
    });
    this.#prompt = new PromptKeys(this.#readline, this.#history);
    this.#bracketPastes(true);
    this.#readline.on('line', (text) => this.#settle({ text, end: this.#keys.nextEnd() }));
    // At the prompt Ctrl-C drops the line. At a question it ends the work that asked.
    this.#readline.on('SIGINT', () => {
      if (this.#running) {
        this.#screen.write('^C');
        this.#takeBack();
        this.interrupt();
      } else {
        this.#screen.write('^C\n');
        this.#dropLine();
      }
    });
  }

  /** Undefined while a question waits below what is written. */
  size(): Size | undefined {
    return this.#waiting || this.#isLost ? undefined : this.#screen.size;
  }

  /** The next text, of one line or several, or undefined when there will be no more. */
  async next(prompt: string, rightPrompt = ''): Promise<Entry | undefined> {
    const entry = await this.#read(prompt, { rightPrompt, isText: true });
    if (entry) this.#history.add(entry.text);
    return entry;
  }

  #read(prompt: string, { rightPrompt = '', isText = false } = {}): Promise<Entry | undefined> {
    this.onInterlude?.();
    const ready = this.#ready.shift();
    if (ready) return Promise.resolve(ready);
    if (this.#isLost) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#prompt.begin(prompt, isText);
      this.#readline.prompt();
      this.#showRight(rightPrompt);
      this.#keys.release();
    });
  }

  async question(text: string, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    const answer = this.#read(text);
    const takeBack = () => this.#takeBack();
    signal?.addEventListener('abort', takeBack, { once: true });
    const entry = await answer;
    signal?.removeEventListener('abort', takeBack);
    signal?.throwIfAborted();
    return entry?.text ?? '';
  }

  async secret(text: string, signal?: AbortSignal): Promise<string> {
    this.onInterlude?.();
    this.#screen.write(text);
    this.#screen.isMuted = true;
    try {
      return await this.question('', signal);
    } finally {
      this.#unmute();
    }
  }

  tell(text: string): void {
    this.onInterlude?.();
    this.write(`${text}\n`);
  }

  /** While a question waits, whole lines appear above it. While a secret is typed, they wait until after it. */
  write(text: string): void {
    if (!this.#waiting) {
      this.#screen.write(text);
      return;
    }
    if (this.#screen.isMuted) {
      this.#held += text;
      return;
    }
    const end = text.lastIndexOf('\n') + 1;
    if (end > 0) {
      this.#screen.write(`${this.#prompt.cleared()}${this.#held}${text.slice(0, end)}`);
      this.#readline.prompt(true);
    }
    this.#held = (end > 0 ? '' : this.#held) + text.slice(end);
  }

  /** Runs work that Ctrl-C stops. */
  async during(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    try {
      await work(running.signal);
    } finally {
      this.#running = undefined;
    }
  }

  interrupt(): void {
    if (!this.#isLent) this.#running?.abort(new ReefError('cancelled', 'Stopped by Ctrl-C'));
  }

  /** Lends the terminal to an editor, which then gets Ctrl-C itself. */
  async lent<T>(work: () => Promise<T>): Promise<T> {
    this.#isLent = true;
    this.#bracketPastes(false);
    try {
      return await this.#keys.lent(work);
    } finally {
      this.#bracketPastes(true);
      this.#isLent = false;
    }
  }

  /** Newest line first. */
  get history(): readonly string[] {
    return this.#history.lines;
  }

  /** Whether the terminal says where a pasted text begins and ends. */
  #bracketPastes(isOn: boolean): void {
    if (this.#isTerminal) this.#screen.write(`\u001b[?2004${isOn ? 'h' : 'l'}`);
  }

  /** The terminal is gone: from now on nothing is asked or shown. */
  hangUp(): void {
    this.#isLost = true;
    this.#screen.isMuted = true;
    this.#running?.abort(new ReefError('cancelled', 'The terminal is gone'));
    this.#settle(undefined);
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  close(): void {
    this.#bracketPastes(false);
    this.#readline.close();
    this.#keys.detach();
  }

  #dropLine(): void {
    this.#prompt.drop();
    this.#readline.prompt();
  }

  /** Answers the question with an empty line. Sets the line directly, because the keys that delete would keep a copy of it. */
  #takeBack(): void {
    if (!this.#waiting) return;
    Object.assign(this.#readline, { line: '', cursor: 0 });
    this.#readline.write(null, { name: 'return' });
  }

  /** Shows again what is written, unless the terminal is gone. */
  #unmute(): void {
    if (!this.#screen.isMuted || this.#isLost) return;
    this.#screen.isMuted = false;
    this.#screen.write('\n');
  }

  #settle(entry: Entry | undefined): void {
    if (!this.#waiting) {
      if (entry) this.#ready.push(entry);
      return;
    }
    const take = this.#waiting;
    this.#waiting = undefined;
    this.#unmute();
    this.#screen.write(this.#held);
    this.#held = '';
    this.#keys.hold();
    take(entry);
  }

  /** Shown at the end of the line until something is typed over it. */
  #showRight(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours have no width
    const width = text.replace(/\u001b\[\d+m/g, '').length;
    if (width > 0) this.#screen.write(`\u001b7\u001b[${this.#screen.columns - width}G${text}\u001b8`);
  }
}
