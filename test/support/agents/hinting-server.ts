import { createInterface } from 'node:readline';

/** An MCP server on standard input and output, with a tool that says it only reads and one that says nothing. */

const inputSchema = { type: 'object' };
const TOOLS = [
  { name: 'look.up', description: 'Looks something up', inputSchema, annotations: { readOnlyHint: true } },
  { name: 'change', description: 'Changes something', inputSchema },
];

interface Message {
  id?: number;
  method: string;
  params?: { protocolVersion?: string; name?: string };
}

function resultOf({ method, params }: Message): unknown {
  if (method === 'initialize')
    return {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'hinting', version: '1' },
    };
  if (method === 'tools/list') return { tools: TOOLS };
  return { content: [{ type: 'text', text: `did ${params?.name}` }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message: Message = JSON.parse(line);
  if (message.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) })}\n`);
}
