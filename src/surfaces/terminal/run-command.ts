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
  try {
    const code = await body(await createCli(host, call));
    if (call.on !== undefined && host.env.REEF_ON === undefined && host.stderr.isTTY && !call.json) {
      host.stderr.write(`All of it is on that machine: type --on ${call.on} again, or export REEF_ON=${call.on}\n`);
    }
    return code;
  } catch (error) {
    return reportError(host, call, errorBody(error));
  }
}

interface Call {
  json: boolean;
  /** The task that the command names: what a hint says to type next is about the same one. */
  id?: string | undefined;
  /** The machine whose daemon is meant, as `--on` names it. */
  on?: string | undefined;
}

/** Prints the error: with `--json` as a document on stdout, otherwise as words on stderr. */
export function reportError(host: Host, { json, id }: Call, { error }: ErrorBody): number {
  const hint = id === undefined ? error.hint : error.hint.replace(/\bID\b/g, shellQuote(id));
  const body = { error: { ...error, hint } };
  if (json) host.stdout.write(`${JSON.stringify(body)}\n`);
  else host.stderr.write(`${renderError(body, styleFor(host, host.stderr))}\n`);
  return errorRow(error.code).exit;
}

async function createCli(host: Host, { json, on }: Call): Promise<Cli> {
  const env = readEnvironment(host.env);
  const style = styleFor(host, host.stdout);
  const talk = (words: string) => void host.stderr.write(`${words}\n`);
  const out = (words: string) => void host.stdout.write(`${words}\n`);
  const remote = on === undefined ? undefined : (await import('../remote/on-box.ts')).onBox(on, { env, talk });
  const cwd = remote?.folder ?? host.cwd();
  const onSlow = () => host.stderr.isTTY && talk('Starting the daemon …');
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
    remote,
    home: () => findHome(env, cwd),
    client: ({ surface = 'cli', folder = cwd } = {}) =>
      remote?.client(surface) ?? openClient({ env, cwd: folder, surface, ...(surface === 'cli' && { onSlow }) }),
  };
}

function styleFor(host: Host, stream: { isTTY?: boolean; columns?: number }): Style {
  const { noColor } = readEnvironment(host.env);
  const isTerminal = stream.isTTY === true;
  const width = isTerminal ? (stream.columns ?? WIDTH_WITHOUT_TERMINAL) : WIDTH_WITHOUT_TERMINAL;
  return createStyle({ colour: isTerminal && !noColor, width, now: new Date() });
}
