import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PATH } from '../../../../test/support/programs.ts';
import { serverSpec, testFactory } from '../../../../test/support/runtime/mcp.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { until } from '../../../../test/support/wait.ts';
import { launchBound } from '../../../process/bound.ts';
import { probeCapabilities } from '../../../process/capabilities.ts';
import type { ToolContext } from '../../tools/tool.ts';
import type { RemoteServerSpec } from '../factory.ts';
import { metaTools } from '../meta/meta-tools.ts';
import { acquireRuntime } from '../scope.ts';

const BIN = join(import.meta.dirname, '../../../../test/agents/node_modules/.bin');
const FILES = join(BIN, 'mcp-server-filesystem');
const EVERYTHING = join(BIN, 'mcp-server-everything');
const why = 'the servers are put there by scripts/install-agents.ts';
const context: ToolContext = {
  cwd: '/',
  signal: new AbortController().signal,
  ask: async () => ({ kind: 'needs_human' }),
};

verifies('R-36', 'R-92')
  .needs(existsSync(FILES), why)
  .test('the reference file server is found, described and called through the meta-tools', async () => {
    await using factory = await testFactory();
    const folder = temporaryFolder();
    const root = realpathSync(folder);
    mkdirSync(join(root, 'notes'));
    writeFileSync(join(root, 'notes', 'a.txt'), 'reef');
    const runtime = await acquireRuntime(factory, [serverSpec('files', { command: FILES, args: [root], cwd: root })]);
    const [search, describe, invoke] = metaTools(runtime);
    const found = (await search?.run({ query: 'read the text of a file' }, context)) as { tool: string }[];
    const described = (await describe?.run({ tool: 'read_text_file' }, context)) as {
      arguments: { required: string[] };
    };
    const read = await invoke?.run({ tool: 'read_text_file', arguments: { path: join(root, 'notes/a.txt') } }, context);
    const outside = invoke?.run({ tool: 'read_text_file', arguments: { path: '/etc/hostname' } }, context);
    expect({
      found: found.some(({ tool }) => tool === 'read_text_file'),
      required: described.arguments.required,
      read,
      outside: await outside?.catch((error) => error.code),
    }).toEqual({ found: true, required: ['path'], read: 'reef', outside: 'mcp_call_failed' });
  });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** The everything server behind HTTP, as somebody else would run it. */
async function startRemote(kind: 'streamableHttp' | 'sse') {
  const port = await freePort();
  const env = { PATH, PORT: String(port) };
  const spec = { file: EVERYTHING, args: [kind], cwd: '/', env, tag: `remote-${port}` };
  const start = async () => {
    const remote = await launchBound(spec, await probeCapabilities());
    let said = '';
    for (const stream of [remote.stdout, remote.stderr]) stream.on('data', (chunk) => (said += chunk));
    await until('it listens', () => said.includes(String(port)));
    return remote;
  };
  let remote = await start();
  return {
    port,
    kill: () => remote.close({ graceMs: 0 }),
    async restart() {
      remote = await start();
    },
    [Symbol.asyncDispose]: async () => void (await remote.close({ graceMs: 0 })),
  };
}

const remoteSpec = (type: 'http' | 'sse', url: string): RemoteServerSpec => ({
  name: 'remote',
  type,
  url,
  headers: { 'X-Token': 'none' },
  required: false,
  share: true,
  start: { type, url, headers: ['X-Token'] },
});

verifies('R-37')
  .needs(existsSync(EVERYTHING), why)
  .test(
    'a server behind HTTP is called, lost and found again',
    async () => {
      await using remote = await startRemote('streamableHttp');
      await using factory = await testFactory();
      const { value } = await factory.acquire(remoteSpec('http', `http://127.0.0.1:${remote.port}/mcp`));
      const echo = (message: string) =>
        value.call('echo', { message }).then(
          ({ text }) => text,
          (error) => error.code,
        );
      const said = [await echo('one')];
      await remote.kill();
      said.push(await echo('two'));
      await remote.restart();
      said.push(await echo('three'));
      expect({ said, pid: value.pid }).toEqual({
        said: ['Echo: one', 'mcp_server_gone', 'Echo: three'],
        pid: undefined,
      });
    },
    60_000,
  );

verifies('R-37')
  .needs(existsSync(EVERYTHING), why)
  .test(
    'a server behind the older event stream is called',
    async () => {
      await using remote = await startRemote('sse');
      await using factory = await testFactory();
      const { value } = await factory.acquire(remoteSpec('sse', `http://127.0.0.1:${remote.port}/sse`));
      expect((await value.call('echo', { message: 'stream' })).text).toBe('Echo: stream');
    },
    60_000,
  );

verifies('R-35').test('a remote server that is not there is a failed start', async () => {
  await using factory = await testFactory();
  const port = await freePort();
  const failure = await factory
    .acquire(remoteSpec('http', `http://127.0.0.1:${port}/mcp`))
    .catch((error) => error.code);
  expect(failure).toBe('mcp_start_failed');
});
