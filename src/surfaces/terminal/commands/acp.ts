import type { Readable, Writable } from 'node:stream';
import { serveEditor } from '../../acp/server.ts';
import type { Command } from '../cli.ts';

export const acp: Command<{ agent?: string; workflow?: string | true }> = async (cli, _args, { agent, workflow }) => {
  const { host } = cli;
  await serveEditor({
    stdin: host.stdin as Readable,
    stdout: host.stdout as Writable,
    // No model talks here: a person types the prompts and answers the questions in the editor.
    open: (folder) => cli.client({ folder }),
    wanted: {
      ...(agent !== undefined && { agent }),
      ...(workflow !== undefined && { workflow: workflow === true ? '' : workflow }),
    },
  });
  return 0;
};
