import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { isRecord } from '../config/settings-file.ts';

/** How a server is started, in the words of mcp.json: with names of secrets and variables, and without their values. */
export interface ServerStart {
  type: string;
  command?: string;
  args?: string[];
  /** Names of the variables it is given. */
  env?: string[];
  cwd?: string;
  url?: string;
  /** Names of the headers it is sent. */
  headers?: string[];
  /** Where it runs, if what it runs is a file of that folder. */
  folder?: string;
}

/** Of an entry of mcp.json as it was written. A relative `cwd` starts at `here`. */
export function startOf(entry: unknown, here: string): ServerStart {
  const { type, command, args, env, cwd, url, headers } = isRecord(entry) ? entry : {};
  if (url !== undefined) return { type: String(type ?? 'http'), url: String(url), headers: namesOf(headers) };
  const words = Array.isArray(args) ? args.map(String) : [];
  const folder = resolve(here, String(cwd ?? '.'));
  return {
    type: 'stdio',
    command: String(command),
    args: words,
    env: namesOf(env),
    cwd: String(cwd ?? '.'),
    ...(runsFileOf(folder, [String(command), ...words]) && { folder }),
  };
}

const namesOf = (value: unknown) => (isRecord(value) ? Object.keys(value).sort() : []);

/** The same words run other programs in another folder, such as `node server.js`: to approve them for one says nothing of the next. */
function runsFileOf(folder: string, [command = '', ...args]: string[]): boolean {
  if (!isAbsolute(command) && command.includes('/')) return true;
  return args.some((arg) => !isAbsolute(arg) && isFile(resolve(folder, arg)));
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false; // an argument that is no path
  }
}
