import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'bare', version: '0' });
  const schema = z.strictObject({ jobs: z.array(z.string()) });
  server.registerTool('status', { inputSchema: z.strictObject({}), outputSchema: schema }, async () => ({
    content: [{ type: 'text', text: '{"jobs":[]}' }],
    structuredContent: { jobs: [] },
  }));
  return server;
});
