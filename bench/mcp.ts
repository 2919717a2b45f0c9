import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { makeWorld } from '../test/e2e/harness.ts';
import { printRows, timed } from './measure.ts';

const REEF = join(import.meta.dirname, '../bin/reef.cjs');
const BARE = join(import.meta.dirname, 'bare-mcp-server.ts');
const CALLS = 300;

/** Tool calls a second over stdio: ours asks a daemon, the bare server answers at once. */
export async function benchMcp(): Promise<boolean> {
  const world = makeWorld();
  try {
    await world.client.call('status', {});
    const env = Object.fromEntries(Object.entries(world.env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
    const rate = async (args: string[], tool: string) => {
      const client = new Client({ name: 'bench', version: '0' });
      await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: world.repository, env }));
      const call = () => client.callTool({ name: tool, arguments: {} });
      for (let n = 0; n < 20; n++) await call();
      const ms = await timed(async () => {
        for (let n = 0; n < CALLS; n++) await call();
      });
      await client.close();
      return (CALLS / ms) * 1000;
    };
    const theirs = await rate([BARE], 'status');
    const ours = await rate([REEF, 'mcp'], 'status');
    return printRows('MCP tool calls one after the other', [
      { what: 'reef mcp status · a bare SDK server', ours, theirs, unit: 'calls/s' },
    ]);
  } finally {
    await world.close();
  }
}
