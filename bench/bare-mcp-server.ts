import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import type { OperationName } from '../src/protocol/operations.ts';
import { resultSchema } from '../src/surfaces/mcp/slim.ts';

/** The SDK and nothing else: tools that answer at once with what Reef answered a moment before, checked by the same schema. */
const [, , file = '', over = 'stdio'] = process.argv;
const answers: Record<string, object> = JSON.parse(readFileSync(file, 'utf8'));
const inputs = { status: z.strictObject({}), output: z.strictObject({ id: z.string() }) };

function makeServer(): McpServer {
  const server = new McpServer({ name: 'bare', version: '0' });
  for (const [name, answer] of Object.entries(answers)) {
    const outputSchema = resultSchema(name as OperationName);
    server.registerTool(
      name,
      { inputSchema: inputs[name as keyof typeof inputs], outputSchema },
      () => answer as never,
    );
  }
  return server;
}

if (over === 'stdio') serveStdio(makeServer);
else {
  const handler = createMcpHandler(makeServer);
  const server = createServer(getRequestListener((request) => handler.fetch(request)));
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
}
