import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { serveMcp } from '../../mcp/server.ts';
import type { Command } from '../cli.ts';

export const mcp: Command<{ cwd?: string }> = async (cli, _args, options) => {
  const { env, cwd: here, host } = cli;
  // Editors start their servers wherever they like, and put the folder one has open into an argument.
  const cwd = resolve(here, options.cwd ?? '.');
  const open = () => cli.client({ surface: 'mcp', folder: cwd });
  const user = env.reefSocket === undefined ? 'client' : 'job';
  await serveMcp(open, { stdin: host.stdin as Readable, stdout: host.stdout as Writable, user, folder: cwd });
  return 0;
};
