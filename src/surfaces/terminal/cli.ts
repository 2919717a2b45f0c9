import type { Environment } from '../../base/env.ts';
import type { Home } from '../../base/home.ts';
import type { Client } from '../client/client.ts';
import type { Style } from '../render/style.ts';

/** What the body of a command may use: data to stdout, talk to stderr, and the daemon. */
export interface Cli {
  host: Host;
  env: Environment;
  cwd: string;
  json: boolean;
  style: Style;
  /** A person sits at both ends. */
  isInteractive: boolean;
  out(text: string): void;
  talk(text: string): void;
  /** One JSON document, or the words for it. */
  print(value: unknown, words: () => string): void;
  stdin(): Promise<string>;
  home(): Home;
  client(): Client;
}

/** Resolves with the exit code. */
export type Command<Options> = (cli: Cli, args: string[], options: Options) => Promise<number>;

/** The parts of `process` a command line needs. */
export interface Host {
  argv: string[];
  env: NodeJS.ProcessEnv;
  cwd(): string;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
}
