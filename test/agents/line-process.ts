import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Message = Record<string, unknown>;

/** A program that speaks one JSON object a line, driven by hand: raw, so that a test of the pairing does not lean on Reef. */
export class LineProcess {
  readonly messages: Message[] = [];
  stderr = '';
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #read = 0;
  #wake: () => void = () => {};

  constructor(command: readonly [string, ...string[]], options: { cwd: string; env: Record<string, string> }) {
    const [file, ...args] = command;
    // opencode works in $PWD, whatever its working directory is.
    this.#child = spawn(file, args, { ...options, env: { ...options.env, PWD: options.cwd }, detached: true });
    this.#child.stderr.on('data', (data: Buffer) => {
      this.stderr = (this.stderr + data).slice(-4_000);
    });
    this.#child.stdin.on('error', () => {}); // the exit tells it, with the program's own words
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.messages.push(JSON.parse(line));
      this.#wake();
    });
    this.#exited = new Promise((resolve) => {
      const end = (reason?: unknown) => {
        if (reason instanceof Error) this.stderr += String(reason);
        this.#hasExited = true;
        this.#wake();
        resolve();
      };
      this.#child.once('close', end).once('error', end);
    });
  }

  send(message: unknown): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** The next message that fits, after the one that was found last. */
  async until(fits: (message: Message) => boolean, timeoutMs = 60_000): Promise<Message> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      while (this.#read < this.messages.length) {
        const message = this.messages[this.#read++] ?? {};
        if (fits(message)) return message;
      }
      const left = deadline - Date.now();
      if (this.#hasExited || left <= 0) throw new Error(this.#failure());
      await this.#news(left);
    }
  }

  /** Ends the whole group: a wrapper such as strace keeps the signal to itself. */
  async stop(): Promise<void> {
    this.#signal('SIGTERM');
    const force = setTimeout(() => this.#signal('SIGKILL'), 5_000);
    await this.#exited;
    clearTimeout(force);
  }

  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid !== undefined && !this.#hasExited) process.kill(-pid, signal);
  }

  #news(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #failure(): string {
    const last = this.messages.slice(-3).map((message) => JSON.stringify(message).slice(0, 600));
    const what = this.#hasExited ? 'exited' : 'silent';
    return `${what} before the expected message\nlast: ${last.join('\n')}\nstderr: ${this.stderr}`;
  }
}
