import { text } from 'node:stream/consumers';
import { readEnvironment } from '../../base/env.ts';
import { findHome } from '../../base/home.ts';
import { errorRow } from '../../protocol/error-table.ts';
import type { ErrorBody } from '../../protocol/errors.ts';
import { openClient } from '../client/client.ts';
import { errorBody } from '../client/request.ts';
import { renderError } from '../render/error.ts';
import { shellQuote } from '../render/short-names.ts';
import { createStyle, type Style } from '../render/style.ts';
import type { Cli, Host } from './cli.ts';

const WIDTH_WITHOUT_TERMINAL = 120;

/** Runs the body of a command. What it throws becomes a message and an exit code. */
export async function runCommand(host: Host, call: Call, body: (cli: Cli) => Promise<number>): Promise<number> {
  const cli = createCli(host, call.json);
  try {
    return await body(cli);
  } catch (error) {
    return reportError(host, call, errorBody(error));
  }
}

interface Call {
  json: boolean;
  /** The task that the command names: what a hint says to type next is about the same one. */
  id?: string | undefined;
}

/** Prints the error: with `--json` as a document on stdout, otherwise as words on stderr. */
export function reportError(host: Host, { json, id }: Call, { error }: ErrorBody): number {
  const hint = id === undefined ? error.hint : error.hint.replace(/\bID\b/g, shellQuote(id));
  const body = { error: { ...error, hint } };
  if (json) host.stdout.write(`${JSON.stringify(body)}\n`);
  else host.stderr.write(`${renderError(body, styleFor(host, host.stderr))}\n`);
  return errorRow(error.code).exit;
}

function createCli(host: Host, json: boolean): Cli {
  const env = readEnvironment(host.env);
  const cwd = host.cwd();
  const style = styleFor(host, host.stdout);
  const talk = (words: string) => void host.stderr.write(`${words}\n`);
  const out = (words: string) => void host.stdout.write(`${words}\n`);
  return {
    host,
    env,
    cwd,
    json,
    style,
    isInteractive: host.stdin.isTTY === true && host.stdout.isTTY === true,
    out,
    talk,
    print: (value, words) => out(json ? JSON.stringify(value) : words()),
    stdin: async () => (await text(host.stdin)).trimEnd(),
    home: () => findHome(env, cwd),
    client: () =>
      openClient({ env, cwd, surface: 'cli', onSlow: () => host.stderr.isTTY && talk('Starting the daemon …') }),
  };
}

function styleFor(host: Host, stream: { isTTY?: boolean; columns?: number }): Style {
  const { noColor } = readEnvironment(host.env);
  const isTerminal = stream.isTTY === true;
  const width = isTerminal ? (stream.columns ?? WIDTH_WITHOUT_TERMINAL) : WIDTH_WITHOUT_TERMINAL;
  return createStyle({ colour: isTerminal && !noColor, width, now: new Date() });
}
