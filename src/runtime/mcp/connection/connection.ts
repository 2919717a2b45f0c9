import type { CallToolResult, ContentBlock, Tool as ServerTool, Transport } from '@modelcontextprotocol/client';
import { ReefError } from '../../../protocol/errors.ts';
import type { McpCallResult, McpTool } from '../factory.ts';

/** A conversation with a server that has shaken hands. */
export interface Connection {
  readonly pid: number | undefined;
  readonly instructions: string | undefined;
  tools(): readonly McpTool[];
  call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult>;
  ping(timeoutMs: number): Promise<void>;
  /** Resolves with the reason once the server cannot be reached any more, `close` included. */
  readonly gone: Promise<string>;
  close(graceMs: number): Promise<void>;
}

/** What is behind a conversation: a process, or nothing of ours. */
export interface Backing {
  transport: Transport;
  pid: number | undefined;
  /** Why it ended, as far as it is known. */
  lastWords(): Promise<string>;
  end(graceMs: number): Promise<void>;
  /** Errors of a call that mean that the server itself is lost. */
  isLost(error: unknown): boolean;
}

interface HandshakeOptions {
  name: string;
  version: string;
  signal: AbortSignal;
}

/** A tool may work for long; whoever waits holds the signal. */
const CALL_TIMEOUT_MS = 3_600_000;

/** Shakes hands over a backing. The backing is the caller's to end when this rejects. */
export async function converse(backing: Backing, { name, version, signal }: HandshakeOptions): Promise<Connection> {
  const { Client } = await import('@modelcontextprotocol/client');
  let tools: readonly McpTool[] = [];
  const onChanged = (error: Error | null, changed: readonly ServerTool[] | null) => {
    if (!error && changed) tools = changed.map(toTool);
  };
  const client = new Client({ name: 'reef', version }, { listChanged: { tools: { onChanged } } });
  const over = Promise.withResolvers<string>();
  let isGone = false;
  const lose = () => {
    if (isGone) return;
    isGone = true;
    void backing.lastWords().then(over.resolve, () => over.resolve('it ended'));
  };
  client.onclose = lose;
  client.onerror = () => {}; // each call rejects by itself; a stray line is no failure
  await client.connect(backing.transport, { signal, timeout: CALL_TIMEOUT_MS });
  if (client.getServerCapabilities()?.tools) {
    tools = (await client.listTools(undefined, { signal, timeout: CALL_TIMEOUT_MS })).tools.map(toTool);
  }

  const failure = async (error: unknown, what: string, aborted?: AbortSignal) => {
    if (aborted?.aborted) return new ReefError('cancelled', `${what} was cancelled`, { cause: error });
    if (!isGone && backing.isLost(error)) lose();
    if (isGone) {
      return new ReefError('mcp_server_gone', `${name} is gone: ${await over.promise}`, { cause: error });
    }
    return new ReefError('mcp_call_failed', `${what} failed: ${messageOf(error)}`, { cause: error });
  };

  return {
    pid: backing.pid,
    instructions: client.getInstructions(),
    gone: over.promise,
    tools: () => tools,
    async call(tool, args, aborted) {
      const options = { timeout: CALL_TIMEOUT_MS, ...(aborted && { signal: aborted }) };
      try {
        return toCallResult(await client.callTool({ name: tool, arguments: { ...args } }, options));
      } catch (error) {
        throw await failure(error, `${tool} of ${name}`, aborted);
      }
    },
    async ping(timeoutMs) {
      try {
        await client.ping({ timeout: timeoutMs });
      } catch (error) {
        throw await failure(error, `A ping of ${name}`);
      }
    },
    async close(graceMs) {
      lose();
      await backing.end(graceMs);
      await client.close().catch(() => {}); // the peer may be gone already, which is what is wanted
    },
  };
}

function toTool({ name, description = '', inputSchema, annotations }: ServerTool): McpTool {
  return { name, description, inputSchema, readOnly: annotations?.readOnlyHint === true };
}

/** A model reads text: blocks that are none are named by kind and size. */
function toCallResult(result: CallToolResult): McpCallResult {
  const text = result.content.map(blockText).join('\n');
  const { structuredContent } = result;
  return {
    text,
    ...(structuredContent !== undefined && { structured: structuredContent }),
    isError: result.isError === true,
  };
}

function blockText(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type} ${block.mimeType}, ${Buffer.byteLength(block.data, 'base64')} bytes]`;
    case 'resource_link':
      return `[resource ${block.name}: ${block.uri}]`;
    case 'resource':
      return 'text' in block.resource
        ? block.resource.text
        : `[resource ${block.resource.uri}, ${Buffer.byteLength(block.resource.blob, 'base64')} bytes]`;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
