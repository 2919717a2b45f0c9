import type { Environment } from '../../base/env.ts';
import type { Home } from '../../base/home.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { OperationInput, OperationName, OperationOutput } from '../../protocol/operations.ts';
import type { Client, Sent } from '../client/client.ts';
import type { OnBox } from '../remote/on-box.ts';
import type { Style } from '../render/style.ts';

/** What the body of a command may use. Results go to stdout, everything else to stderr. */
export interface Cli {
  host: Host;
  env: Environment;
  cwd: string;
  json: boolean;
  style: Style;
  /** Both standard input and output are a terminal. */
  isInteractive: boolean;
  out(text: string): void;
  talk(text: string): void;
  /** Prints a JSON document, or the words for it. */
  print(value: unknown, words: () => string): void;
  stdin(): Promise<string>;
  home(): Home;
  /** The machine that `--on` names. */
  remote: OnBox | undefined;
  /** Of the daemon of this folder, or of the machine that `--on` names. */
  client(options?: { surface?: 'cli' | 'mcp'; folder?: string }): Client;
}

/** Resolves with the exit code. */
export type Command<Options> = (cli: Cli, args: string[], options: Options) => Promise<number>;

/** A command that calls one operation and prints its output. */
export function operationCommand<N extends OperationName, Options = object>(
  name: N,
  toInput: (args: string[], options: Options, cli: Cli) => Sent<OperationInput<N>>,
  words: (output: OperationOutput<N>, style: Style) => string,
): Command<Options> {
  return async (cli, args, options) => {
    const output = await cli.client().call(name, toInput(args, options, cli));
    cli.print(output, () => words(output, cli.style));
    return 0;
  };
}

/** The parts of `process` that a command line needs. */
export interface Host {
  argv: string[];
  env: NodeJS.ProcessEnv;
  cwd(): string;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; getWindowSize?(): [number, number] };
  stderr: NodeJS.WritableStream & { isTTY?: boolean };
}

/** An argument, where `-` stands for standard input: for secrets, and for texts that are too long for an argument. */
export async function textArgument(cli: Cli, text: string | undefined): Promise<string | undefined> {
  if (text !== '-') return text;
  const read = await cli.stdin();
  if (read === '') throw new ReefError('bad_request', 'text: standard input was empty');
  return read;
}
