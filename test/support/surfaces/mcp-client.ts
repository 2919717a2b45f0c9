import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The revisions before 2026-07-28 work in sessions; it does not. */
export const ERAS = ['legacy', 'modern'] as const;

interface Connecting {
  port: number;
  token: string;
  era: (typeof ERAS)[number];
  /** The person at the client, asked for consent. */
  person?: (message: string) => boolean;
}

/** The official client, over HTTP at `/mcp` of a door. */
export async function connectMcp({ port, token, era, person }: Connecting): Promise<Client> {
  const mode = era === 'modern' ? { pin: '2026-07-28' } : ('legacy' as const);
  const options = { versionNegotiation: { mode }, capabilities: person ? { elicitation: {} } : {} };
  const client = new Client({ name: `editor-${era}`, version: '1' }, options);
  if (person) {
    client.setRequestHandler('elicitation/create', async ({ params }) =>
      person(params.message) ? { action: 'accept', content: { agreed: true } } : { action: 'decline' },
    );
  }
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`), { requestInit: { headers } }),
  );
  return client;
}
