import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFiles } from '../support/repository.ts';
import { eventually, until } from '../support/wait.ts';
import type { World } from './harness.ts';
import { REEF, type User } from './runtime-rig.ts';

export const TMUX = findTmux();

function findTmux(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** A line to type, what must be on the screen then, and what else to type before it can be. */
export interface Step {
  line: string;
  shows: RegExp;
  /** Lines that answer questions, each with the question it waits for. */
  answers?: readonly { question: RegExp; line: string }[];
  /** What the editor does to its file: a program of sed. */
  edit?: string;
}

const LIMIT_MS = 60_000;
const EDITOR = '#!/bin/sh\nexec sed -i -f "$HOME/edit" "$1"\n';

/** Whose terminal it is. */
export type Seat = Pick<User, 'root' | 'cwd' | 'env' | 'write'>;

/** A terminal in the repository of a world. */
export function seatIn({ root, repository: cwd, env }: World, more: NodeJS.ProcessEnv = {}): Seat {
  const write = (path: string, text: string) => {
    writeFiles(root, { [path]: text });
    return join(root, path);
  };
  return { root, cwd, env: { ...env, TERM: 'xterm-256color', ...more }, write };
}

/** `reef chat` in a real terminal. */
export class Chat implements AsyncDisposable {
  readonly #user: Seat;
  readonly #socket: string;

  private constructor(user: Seat) {
    this.#user = user;
    // A server that ends still holds its socket for a moment: the next chat has another.
    this.#socket = join(user.root, `tmux-${randomUUID().slice(0, 8)}`);
  }

  static async open(user: Seat): Promise<Chat> {
    const chat = Chat.start(user, ['chat']);
    try {
      await chat.until(/`\.help` lists the commands\.\s[\s\S]*>$/);
      return chat;
    } catch (error) {
      await chat[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Any command at a terminal. */
  static start(user: Seat, args: readonly string[], { columns = 150, rows = 50 } = {}): Chat {
    const chat = new Chat(user);
    const editor = user.write('home/editor.sh', EDITOR);
    chmodSync(editor, 0o755);
    const command = [process.execPath, REEF, ...args].map((word) => `'${word}'`).join(' ');
    // A shell that is interrupted as well would not tell how the command ended.
    const line = `trap : INT; EDITOR='${editor}' ${command}; echo "[ended $?]"; exec sleep 60`;
    chat.tmux('new-session', '-d', '-x', String(columns), '-y', String(rows), '-c', user.cwd, 'sh', '-c', line);
    chat.tmux('set-option', '-s', 'set-clipboard', 'on');
    chat.tmux('set-option', '-s', 'escape-time', '10');
    return chat;
  }

  tmux(...args: string[]): string {
    const { env } = this.#user;
    return execFileSync(TMUX ?? 'tmux', ['-S', this.#socket, '-f', '/dev/null', ...args], {
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  }

  /** With what has left it at the top. */
  screen(): string {
    return this.#captured('-S', '-');
  }

  /** With its colours, each change of them as `‹…›`: terminals write the same look in several ways. */
  looks(): string {
    const rows = this.tmux('capture-pane', '-p', '-e', '-S', '-').split('\n');
    return rows.map(readable()).join('\n').trimEnd();
  }

  #captured(...range: string[]): string {
    // Blanks at the end of a line cannot be seen.
    return this.tmux('capture-pane', '-p', '-J', ...range)
      .replace(/ +$/gm, '')
      .trimEnd();
  }

  until(expected: RegExp, look = () => this.screen()): Promise<string> {
    const what = `${expected} is on the screen`;
    return eventually(look, (screen) => expected.test(screen), { what, withinMs: LIMIT_MS, everyMs: 30 });
  }

  /** An empty screen with a prompt on it. */
  async clear(): Promise<void> {
    this.keys('C-l');
    await this.until(/^\S*>$/, () => this.#captured());
    this.tmux('clear-history');
  }

  type(text: string): void {
    this.tmux('send-keys', '-l', '--', text);
  }

  keys(...keys: string[]): void {
    this.tmux('send-keys', ...keys);
  }

  async step({ line, shows, answers = [], edit }: Step): Promise<string> {
    if (edit !== undefined) writeFileSync(join(this.#user.root, 'home/edit'), `${edit}\n`);
    await this.clear();
    this.type(line);
    // Before it is there the screen is that of the step before, whose prompt may be all that is waited for.
    await this.until(/> \S/);
    this.keys('Enter');
    for (const answer of answers) {
      await this.until(answer.question);
      this.type(answer.line);
      this.keys('Enter');
    }
    return this.until(shows);
  }

  /** What runs in the terminal. */
  programs(): number[] {
    const pane = this.tmux('display-message', '-p', '#{pane_pid}').trim();
    const all = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).split('\n');
    return all
      .map((line) => line.trim().split(/\s+/))
      .flatMap(([pid, parent]) => (parent === pane ? [Number(pid)] : []));
  }

  /** Closes the terminal and waits until what ran in it has noticed. */
  async hangUp(): Promise<void> {
    const pids = this.programs();
    this.tmux('kill-server');
    await until('the terminal has closed', () => !pids.some(isAlive), LIMIT_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.hangUp();
    } catch {
      // It is gone with its last window.
    }
  }
}

/** What an SGR parameter takes back. */
const ENDS: Readonly<Record<string, RegExp>> = {
  0: /./,
  22: /^[12]$/,
  23: /^3$/,
  24: /^4$/,
  29: /^9$/,
  39: /^(3[0-7]|9\d|38;.*)$/,
};

function readable(): (row: string) => string {
  let look: string[] = [];
  return (row) => {
    let told = '';
    const tell = (text: string) => {
      const now = look.join(';');
      if (text.trim() === '' || now === told) return text;
      told = now;
      return `‹${now}›${text}`;
    };
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what tmux writes
    const pieces = [...row.matchAll(/\u001b\[([\d;]*)m|[^\u001b]+/g)].map(([text, codes]) => {
      if (codes === undefined) return tell(text);
      look = changed(look, codes);
      return '';
    });
    return pieces.join('').trimEnd();
  };
}

function changed(look: readonly string[], codes: string): string[] {
  let now = [...look];
  for (const code of (codes || '0').match(/[34]8;(?:5;\d+|2;\d+;\d+;\d+)|\d+/g) ?? []) {
    const ends = ENDS[code] ?? (ENDS[39]?.test(code) ? ENDS[39] : undefined);
    now = now.filter((each) => !ends?.test(each));
    if (ENDS[code] === undefined && code !== '49') now = [...now, code].sort();
  }
  return now;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
