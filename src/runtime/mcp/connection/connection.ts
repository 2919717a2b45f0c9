import type { CallToolResult, ContentBlock, Tool as ServerTool, Transport } from '@modelcontextprotocol/client';
import { capText } from '../../../base/cap.ts';
import { fingerprint } from '../../../base/fingerprint.ts';
import { printable } from '../../../base/printable.ts';
import { ReefError, toReefError } from '../../../protocol/errors.ts';
import type { McpCallResult, McpTool } from '../factory.ts';

/** A server after its handshake. */
export interface Connection {
  readonly pid: number | undefined;
  tools(): readonly McpTool[];
  call(tool: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<McpCallResult>;
  ping(timeoutMs: number): Promise<void>;
  /** Resolves with the reason when the server can no longer be reached, also after `close`. */
  readonly gone: Promise<string>;
  close(graceMs: number): Promise<void>;
}

/** How a server is reached: through a process of ours, or over the network. */
export interface Backing {
  transport: Transport;
  pid: number | undefined;
  /** Why it ended, as far as known. */
  lastWords(): Promise<string>;
  end(graceMs: number): Promise<void>;
  /** True if the error of a call means that the server itself is lost. */
  isLost(error: unknown): boolean;
}

/** A tool may take long; the caller can abort it. */
const CALL_TIMEOUT_MS = 3_600_000;

/** Does the handshake. When this rejects, the caller ends the backing. */
export async function converse(
  backing: Backing,
  { name, version, signal }: { name: string; version: string; signal: AbortSignal },
): Promise<Connection> {
  const { Client } = await import('@modelcontextprotocol/client');
  let tools: readonly McpTool[] = [];
  const onChanged = (error: Error | null, changed: readonly ServerTool[] | null) => {
    if (!error && changed) tools = changed.flatMap(toTool);
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
  client.onerror = () => {}; // a failed call rejects; a stray line is no failure
  await client.connect(backing.transport, { signal, timeout: CALL_TIMEOUT_MS });
  if (client.getServerCapabilities()?.tools) {
    tools = (await client.listTools(undefined, { signal, timeout: CALL_TIMEOUT_MS })).tools.flatMap(toTool);
  }

  const failure = async (error: unknown, what: string, aborted?: AbortSignal) => {
    if (aborted?.aborted) return new ReefError('cancelled', `${what} was cancelled`, { cause: error });
    if (!isGone && backing.isLost(error)) lose();
    if (isGone) {
      return new ReefError('mcp_server_gone', `${name} is gone: ${await over.promise}`, { cause: error });
    }
    return new ReefError('mcp_call_failed', `${what} failed: ${toReefError(error).message}`, { cause: error });
  };

  return {
    pid: backing.pid,
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
      await client.close().catch(() => {}); // the server may be gone already
    },
  };
}

const MAX_DESCRIPTION = 4 * 1024;
const MAX_SCHEMA = 64 * 1024;
const LONGEST_NAME = 128;

/** What a server says of a tool is data that a model and a person read: bounded, and nothing in it hides. A name that hides is no tool. */
function toTool({ name, description = '', inputSchema }: ServerTool): McpTool[] {
  const isPlain = name.length <= LONGEST_NAME && printable(name) === name;
  if (!isPlain || Buffer.byteLength(JSON.stringify(inputSchema)) > MAX_SCHEMA) return [];
  const schema = withPlainWords(inputSchema) as McpTool['inputSchema'];
  const hash = fingerprint({ name, description, inputSchema });
  return [{ name, description: words(description), inputSchema: schema, hash }];
}

const words = (text: string) => capText(printable(text), MAX_DESCRIPTION);

/** Only what is there to be read: an exact value or a pattern would become another one. */
function withPlainWords(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withPlainWords);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    const isText = (key === 'description' || key === 'title') && typeof value === 'string';
    return [key, isText ? words(value) : withPlainWords(value)];
  });
  return Object.fromEntries(entries);
}

/** A model reads text: other blocks are named by kind and size. */
function toCallResult({ content, structuredContent, isError = false }: CallToolResult): McpCallResult {
  return { text: content.map(blockText).join('\n'), structured: structuredContent, isError };
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
