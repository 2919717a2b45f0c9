import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { JOB_ID } from '../../../test/support/surfaces/samples.ts';
import { openSocket, type TestSocket } from '../../../test/support/surfaces/socket.ts';
import { toolsFor } from './server.ts';

const path = (file: string) => fileURLToPath(new URL(`../../../${file}`, import.meta.url));
const run = promisify(execFile);

let socket: TestSocket | undefined;
afterEach(async () => {
  await socket?.close();
  socket = undefined;
});

/** The official Inspector as a client we did not write (the part of U-17 that is about stdio). */
async function inspect({ path: socketPath, dir }: TestSocket, ...args: string[]) {
  const server = [process.execPath, path('bin/reef.cjs'), 'mcp'];
  // It hands on no environment of ours.
  const command = [
    path('node_modules/.bin/mcp-inspector'),
    '--cli',
    '-e',
    `REEF_SOCKET=${socketPath}`,
    ...server,
    ...args,
  ];
  const { stdout } = await run(process.execPath, command, { cwd: dir });
  return JSON.parse(stdout);
}

test('the Inspector lists the tools and calls one', async () => {
  socket = await openSocket();
  const { tools } = await inspect(socket, '--method', 'tools/list');
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(toolsFor('job'));
  const result = await inspect(socket, '--method', 'tools/call', '--tool-name', 'kill', '--tool-arg', 'id=@last');
  expect(result.structuredContent).toEqual({ agentId: JOB_ID, status: 'killed', finalOutput: 'last words' });
});
