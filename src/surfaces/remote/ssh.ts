import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import type { Environment } from '../../base/env.ts';
import { socketsOf } from '../../base/home.ts';
import { parseJson } from '../../base/safe-json.ts';
import { version } from '../../base/version.ts';
import { runForeground } from '../../process/foreground.ts';
import { run } from '../../process/run.ts';
import { type HostInfo, isHostInfo } from '../../protocol/daemon.ts';
import { ReefError } from '../../protocol/errors.ts';
import { DaemonError, isErrorBody } from '../client/request.ts';
import { shellQuote } from '../render/short-names.ts';
import type { Box } from './box.ts';

/** A laptop that slept notices within this long that its connection is gone. */
const ALIVE = ['-o', 'ServerAliveInterval=5', '-o', 'ServerAliveCountMax=3', '-o', 'ConnectTimeout=15'];
/** The connection stays for the commands that follow. */
const SHARED = ['-o', 'ControlMaster=auto', '-o', 'ControlPersist=600'];
const HOST_TIMEOUT_MS = 90_000;
const FORWARD_TIMEOUT_MS = 20_000;
/** What a shell says when it does not find a program. */
const NOT_FOUND = 127;
/** What ssh itself exits with when it could not connect. */
const NO_CONNECTION = 255;

/** The person's own ssh, with its keys, agent and configuration, over one connection that all commands share. */
export class Ssh {
  readonly #box: Box;
  readonly #env: Environment;
  /** Sockets and what is known of the box: in a folder that no sandbox shows, because with it one may decide there. */
  readonly #folder: string;
  readonly #talk: (text: string) => void;
  #wasOpen = false;

  constructor(box: Box, { env, talk }: { env: Environment; talk: (text: string) => void }) {
    this.#box = box;
    this.#env = env;
    this.#folder = socketsOf(box.text, env);
    this.#talk = talk;
  }

  /** The daemon's socket as it appears on this machine. */
  get socket(): string {
    return join(this.#folder, 'box.sock');
  }

  credential(): string | undefined {
    try {
      const known = parseJson(readFileSync(this.#known, 'utf8'));
      return known.ok && isHostInfo(known.value) ? known.value.credential : undefined;
    } catch {
      return undefined; // never connected
    }
  }

  /** Connects, starts the daemon there if none runs, and brings its socket here. */
  async open(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    await this.#connect();
    const info = await this.#askHost();
    if (info.version !== version)
      this.#talk(`Reef is ${info.version} on ${this.#box.destination}, and ${version} here.`);
    await writeAtomic(this.#known, JSON.stringify(info));
    await this.#forward(info.socket);
  }

  /** Brings the door of the box to the same port of this machine, and holds it while the connection lasts. */
  async holdDoor({ hostname, port }: URL, onHeld: () => void): Promise<void> {
    const spec = ['-L', `127.0.0.1:${port}:${hostname}:${port}`, '--', this.#box.destination];
    await this.#run(['-O', 'cancel', ...spec], FORWARD_TIMEOUT_MS);
    const { code, stderr } = await this.#run(['-O', 'forward', ...spec], FORWARD_TIMEOUT_MS);
    if (code !== 0) {
      const why = `Port ${port} of this machine cannot stand for that of ${this.#box.destination}: ${lastLine(stderr)}`;
      throw new ReefError('port_in_use', why);
    }
    onHeld();
    const args = [...this.#options(), '-q', '-nN', '--', this.#box.destination];
    await runForeground({ file: 'ssh', args, cwd: '/', env: this.#env.all });
  }

  /** Runs `reef …` there, at the person's terminal. */
  async runThere(words: readonly string[], isTerminal: boolean): Promise<number> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const args = [...this.#options(), isTerminal ? '-t' : '-T', '--', this.#box.destination, this.#there(words)];
    return runForeground({ file: 'ssh', args, cwd: '/', env: this.#env.all });
  }

  get #known(): string {
    return join(this.#folder, 'box.json');
  }

  #options(): string[] {
    const port = this.#box.port === undefined ? [] : ['-p', this.#box.port];
    return [...port, ...ALIVE, ...SHARED, '-o', `ControlPath=${join(this.#folder, 'ssh')}`];
  }

  /** A login shell there, because that one has the PATH on which the person installed Reef. */
  #there(words: readonly string[]): string {
    const { folder } = this.#box;
    const quoted = folder.startsWith('~/') ? `~/${shellQuote(folder.slice(2))}` : shellQuote(folder);
    const line = `cd ${quoted} && exec reef ${words.map(shellQuote).join(' ')}`;
    return `exec "\${SHELL:-/bin/sh}" -lc ${shellQuote(line)}`;
  }

  /** In the foreground, because ssh may ask for a password or show an unknown key. */
  async #connect(): Promise<void> {
    // Tried again and again after a loss, it must not ask or complain each time.
    const again = this.#wasOpen ? ['-q', '-o', 'BatchMode=yes'] : [];
    const args = [...this.#options(), ...again, '-n', '--', this.#box.destination, 'true'];
    const code = await runForeground({ file: 'ssh', args, cwd: '/', env: this.#env.all });
    if (code !== 0) throw this.#unreachable(`ssh ended with exit code ${code}`);
    this.#wasOpen = true;
  }

  async #askHost(): Promise<HostInfo> {
    const { code, stdout, stderr } = await this.#run(['--', this.#box.destination, this.#there(['host', '--json'])]);
    // A profile may print a greeting: what counts is the last line.
    const said = parseJson(stdout.toString().trim().split('\n').at(-1) ?? '');
    if (said.ok && isHostInfo(said.value)) return said.value;
    if (said.ok && isErrorBody(said.value)) throw new DaemonError(said.value);
    if (code === NO_CONNECTION) throw this.#unreachable(lastLine(stderr));
    const why = lastLine(stderr) || `exit code ${code}`;
    if (code === NOT_FOUND) throw new ReefError('reef_not_there', `${this.#box.destination} has no Reef: ${why}`);
    throw new ReefError('box_unreachable', `${this.#box.text} did not say where its daemon is: ${why}`);
  }

  async #forward(there: string): Promise<void> {
    const spec = ['-L', `${this.socket}:${there}`, '--', this.#box.destination];
    // The connection may still hold the socket of before; one that ended left a file, and ssh would refuse to listen there.
    await this.#run(['-O', 'cancel', ...spec], FORWARD_TIMEOUT_MS);
    rmSync(this.socket, { force: true });
    const { code, stderr } = await this.#run(['-O', 'forward', ...spec], FORWARD_TIMEOUT_MS);
    if (code !== 0) throw this.#unreachable(`its socket could not be brought here: ${lastLine(stderr)}`);
  }

  #run(args: readonly string[], timeoutMs = HOST_TIMEOUT_MS) {
    const env = this.#env.all as Record<string, string>;
    return run({ file: 'ssh', args: [...this.#options(), ...args], cwd: '/', env, timeoutMs });
  }

  #unreachable(why: string): ReefError {
    return new ReefError('box_unreachable', `${this.#box.destination} was not reached: ${why}`);
  }
}

function lastLine(output: Buffer): string {
  return output.toString().trim().split('\n').at(-1) ?? '';
}
