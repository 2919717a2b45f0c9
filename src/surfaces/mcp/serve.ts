import type { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { version } from '../../version.ts';
import type { Client } from '../client/client.ts';
import { ProtocolLines } from './protocol-lines.ts';
import { createMcpServer } from './server.ts';

interface Stdio {
  stdin: Readable;
  stdout: Writable;
}

/** Serves one client until it closes its end. Nothing is started, and no file touched, before its first call (U-10). */
export async function serveMcp(
  open: () => Client,
  { stdin, stdout, user }: Stdio & { user: 'people' | 'jobs' },
): Promise<void> {
  // A client of a place without a repository is told so by the tool it calls, not by a server that fails to start.
  const client: Pick<Client, 'call'> = {
    call: async (operation, input, options) => open().call(operation, input, options),
  };
  const lines = new ProtocolLines((message) => stdout.write(`${JSON.stringify(message)}\n`));
  const handle = serveStdio(() => createMcpServer(client, { version, user }), {
    transport: new StdioServerTransport(stdin.pipe(lines), stdout),
    onerror: () => {}, // answered on the wire already
  });
  await finished(stdin, { writable: false }).catch(() => {});
  await handle.close();
}
