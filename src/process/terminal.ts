import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../protocol/errors.ts';
import type { Capabilities } from './capabilities.ts';
import { contained } from './chain.ts';
import { SYSTEM_PATH } from './environment.ts';
import { makeFifo } from './fifo.ts';
import type { ProcessIdentity } from './identity.ts';
import { type LaunchSpec, launch } from './launch.ts';
import { readLaunch } from './launch-folder.ts';
import { run } from './run.ts';
import { toLaunchError } from './start-child.ts';

export interface TerminalSpec extends Omit<LaunchSpec, 'stdin'> {
  /** Bytes the program writes to its terminal once it takes input. */
  ready: string;
}

const SCRIPT = fileURLToPath(new URL('./terminal.sh', import.meta.url));
const SOCKET = 'tmux';
/** The kernel takes no longer path for a socket. */
const LONGEST_SOCKET = 100;
/** The pane we made; people may open others. */
const PANE = '%0';
const PASTED = 'reef';
const ANSWER_MS = 5_000;
const POLL_MS = 10;
const LOOK_BYTES = 64 * 1024;

/** Keeps what the program writes for people to look at later: 64 MiB, in the blocks that `ulimit` counts. */
const KEEP_SCREEN = `PATH='${SYSTEM_PATH}'; ulimit -f 131072; exec cat >>screen 9>code`;

/**
 * Starts a program in a tmux server of its own, which outlives us and ends with the job's tree; `attachCommand` joins it. With
 * a sandbox only the program is inside: a server it could reach would start programs outside.
 */
export async function launchTerminal(spec: TerminalSpec, capabilities: Capabilities): Promise<ProcessIdentity> {
  const { tmux } = capabilities;
  if (tmux === undefined) throw new ReefError('headful_unsupported', 'tmux is not installed here');
  const { ready, sandbox, dir } = spec;
  await makeTerminalFolder(dir, { tmux, ready }).catch((error: unknown) => {
    throw toLaunchError(spec, error);
  });
  const program = sandbox ? contained(spec, capabilities) : [spec.file, ...spec.args];
  const args = [SCRIPT, 'open_terminal', dir, tmux, ...serverArguments(spec, program)];
  const around = sandbox ? { ...capabilities, namespaces: 'none' as const, unshare: undefined } : capabilities;
  const open = { ...spec, file: '/bin/sh', args, sandbox: undefined, stdin: { file: '/dev/null' } };
  const identity = await launch(open, around);
  await opened(dir);
  return identity;
}

/** A person may join as soon as the job runs. If the terminal cannot open, the job ends with the reason. */
async function opened(dir: string): Promise<void> {
  const deadline = performance.now() + ANSWER_MS;
  const isOpen = () => statSync(join(dir, 'open')).size > 0 || readLaunch(dir).exit !== undefined;
  while (!isOpen() && performance.now() < deadline) await sleep(POLL_MS);
}

async function makeTerminalFolder(dir: string, about: TerminalFacts): Promise<void> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  await makeFifo(join(dir, 'code'));
  for (const name of ['screen', 'open']) closeSync(openSync(join(dir, name), 'ax', 0o600));
  writeFileSync(join(dir, 'terminal'), JSON.stringify(about), { mode: 0o600, flag: 'wx' });
}

function serverArguments({ dir, cwd, tag }: TerminalSpec, program: readonly string[]): string[] {
  const folder = cwd.replaceAll('#', '##'); // the one argument tmux expands
  const size = ['-x', '160', '-y', '48'];
  const pane = ['/bin/sh', SCRIPT, 'run_in_pane', dir, ...program];
  const commands = [
    ['set-option', '-s', 'default-terminal', 'screen-256color'],
    ['set-option', '-s', 'escape-time', '20'], // half a second otherwise, and Escape is the key that interrupts agents
    ['set-option', '-g', 'update-environment', ''], // nothing of whoever attaches
    ['new-session', '-d', '-s', tag, ...size, '-c', folder, '--', ...pane],
    ['pipe-pane', '-t', PANE, KEEP_SCREEN],
  ];
  return ['-S', SOCKET, '-f', '/dev/null', ...sequence(commands)];
}

/** Several commands in one call. An argument of tmux that ends in a semicolon would end its command. */
function sequence(commands: readonly (readonly string[])[]): string[] {
  const literal = (arg: string) => arg.replace(/;$/, '\\;');
  return commands.flatMap((command, index) => [...(index === 0 ? [] : [';']), ...command.map(literal)]);
}

interface TerminalFacts {
  tmux: string;
  ready: string;
}

/** The terminal of a launch; undefined where the launch has none. */
export function openTerminal(dir: string): TmuxTerminal | undefined {
  try {
    return new TmuxTerminal(dir, JSON.parse(readFileSync(join(dir, 'terminal'), 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export class TmuxTerminal {
  readonly #dir: string;
  readonly #facts: TerminalFacts;
  #isReady = false;
  #lookedAt = 0;

  constructor(dir: string, facts: TerminalFacts) {
    this.#dir = dir;
    this.#facts = facts;
  }

  /** Whether the program takes input. It says so with the bytes of `ready`; its screen is not interpreted. */
  isReady(): boolean {
    if (this.#isReady) return true;
    const bytes = readFrom(join(this.#dir, 'screen'), this.#lookedAt);
    this.#isReady = bytes.includes(this.#facts.ready);
    this.#lookedAt += Math.max(0, bytes.length - this.#facts.ready.length); // it may have been cut in two
    return this.#isReady;
  }

  /** Pastes the text and presses Enter. False when nothing was typed: the terminal is gone, or a person is busy in it. */
  async type(text: string): Promise<boolean> {
    const input = pasteable(text);
    const paste = [
      ['load-buffer', '-b', PASTED, '-'],
      ['paste-buffer', '-d', '-p', '-b', PASTED, '-t', PANE],
    ];
    const commands = [
      ['if-shell', '-F', '-t', PANE, '#{pane_in_mode}', `send-keys -t ${PANE} -X cancel`],
      ...(input === '' ? [] : paste), // tmux has no empty buffers
      ['send-keys', '-t', PANE, 'Enter'],
    ];
    const { code } = await run({
      file: this.#facts.tmux,
      args: ['-S', SOCKET, ...sequence(commands)],
      cwd: this.#dir,
      env: { PATH: SYSTEM_PATH },
      timeoutMs: ANSWER_MS,
      input,
    });
    return code === 0;
  }

  /** The command with which a person joins. */
  attachCommand(): { file: string; args: string[] } {
    const { tmux } = this.#facts;
    const socket = join(this.#dir, SOCKET);
    if (Buffer.byteLength(socket) <= LONGEST_SOCKET) return { file: tmux, args: ['-S', socket, 'attach-session'] };
    const inFolder = 'cd "$1" && exec "$2" -S "$3" attach-session';
    return { file: '/bin/sh', args: ['-c', inFolder, 'sh', this.#dir, tmux, SOCKET] };
  }
}

function readFrom(path: string, offset: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LOOK_BYTES);
    return buffer.subarray(0, readSync(file, buffer, 0, LOOK_BYTES, offset));
  } finally {
    closeSync(file);
  }
}

/** Control characters are keys, and one sequence of them ends a paste: the rest would be typed. */
function pasteable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
  return text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');
}
