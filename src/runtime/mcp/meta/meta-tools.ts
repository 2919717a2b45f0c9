import type { JsonSchemaType, JsonSchemaValidator } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { capText } from '../../../base/cap.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { parseArguments } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';
import type { McpHandle, McpRuntime, McpTool } from '../factory.ts';
import { searchTools } from './tool-search.ts';

const searchArguments = z.object({ query: z.string(), top_k: z.int().min(1).max(20).default(8) });
const describeArguments = z.object({ tool: z.string().min(1) });
const invokeArguments = z.object({
  tool: z.string().min(1),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

const SUMMARY_BYTES = 300;
/** Providers refuse longer names. */
const LONGEST_NAME = 64;

/** Three tools stand for all tools of a server, so that its prompt cost is constant. Schemas are shown on request. */
export function metaTools(runtime: McpRuntime): Tool[] {
  const check = createArgumentCheck();
  const suffixes = new Set<string>();
  return [...runtime.servers.values()].flatMap(({ value }) => {
    const suffix = suffixFor(value.name, suffixes);
    suffixes.add(suffix);
    return [searchTool(value, suffix), describeTool(value, suffix), invokeTool(value, { suffix, check })];
  });
}

function suffixFor(name: string, taken: ReadonlySet<string>): string {
  const base = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST_NAME - 'mcp_describe__99'.length);
  let suffix = base;
  for (let n = 2; taken.has(suffix); n += 1) suffix = `${base}_${n}`;
  return suffix;
}

function searchTool(server: McpHandle, suffix: string): Tool {
  return {
    name: `mcp_search_${suffix}`,
    description: `Finds tools of MCP server ${server.name}.`,
    parameters: objectSchema({ query: { type: 'string' }, top_k: { type: 'integer', maximum: 20 } }, ['query']),
    effect: 'read',
    async run(args) {
      const { query, top_k } = parseArguments('search', searchArguments, args);
      return searchTools(server.tools, query, top_k).map(({ name, description }) => ({
        tool: name,
        description: capText(description, SUMMARY_BYTES),
      }));
    },
  };
}

function describeTool(server: McpHandle, suffix: string): Tool {
  return {
    name: `mcp_describe_${suffix}`,
    description: `Shows a tool's arguments.`,
    parameters: objectSchema({ tool: { type: 'string' } }, ['tool']),
    effect: 'read',
    async run(args) {
      const { name, description, inputSchema } = find(server, parseArguments('describe', describeArguments, args).tool);
      return { server: server.name, tool: name, description, arguments: inputSchema };
    },
  };
}

function invokeTool(server: McpHandle, { suffix, check }: { suffix: string; check: ArgumentCheck }): Tool {
  return {
    name: `mcp_invoke_${suffix}`,
    description: 'Calls a tool; describe it first.',
    parameters: objectSchema({ tool: { type: 'string' }, arguments: { type: 'object' } }, ['tool', 'arguments']),
    effect: 'exec',
    claims(args) {
      const read = invokeArguments.safeParse(args);
      return read.success ? { subject: read.data.tool } : {};
    },
    async run(args, { signal }) {
      const wanted = parseArguments('invoke', invokeArguments, args);
      const tool = find(server, wanted.tool);
      const mismatch = await check(tool.inputSchema, wanted.arguments);
      if (mismatch !== undefined) {
        return { tool_call_error: `the arguments do not fit ${tool.name}: ${mismatch}`, schema: tool.inputSchema };
      }
      const result = await server.call(tool.name, wanted.arguments, signal);
      if (result.isError)
        throw new ReefError('mcp_call_failed', result.text || `${tool.name} failed and gave no reason`);
      return result.text === '' ? result.structured : result.text;
    },
  };
}

function find(server: McpHandle, name: string): McpTool {
  const tool = server.tools.find((each) => each.name === name);
  if (tool) return tool;
  if (server.suspended.includes(name)) {
    throw new ReefError(
      'tool_changed',
      `${name} of ${server.name} is not what a person approved, so it cannot be used before they have looked at it: reef mcp approve ${server.name}`,
    );
  }
  const near = searchTools(server.tools, name, 5).map((each) => each.name);
  throw new ReefError('tool_unknown', `${server.name} has no tool ${name}; the nearest: ${near.join(', ')}`);
}

function objectSchema(properties: Record<string, unknown>, required: readonly string[]) {
  return { type: 'object', properties, required };
}

/** What is wrong with the arguments; undefined if they fit. */
type ArgumentCheck = (schema: Readonly<Record<string, unknown>>, args: unknown) => Promise<string | undefined>;

/** Compiles each schema once. A schema that does not compile accepts everything: the server decides. */
function createArgumentCheck(): ArgumentCheck {
  const compiled = new WeakMap<object, JsonSchemaValidator<unknown> | null>();
  return async (schema, args) => {
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = await compile(schema);
      compiled.set(schema, validate);
    }
    const verdict = validate?.(args);
    return verdict === undefined || verdict.valid ? undefined : verdict.errorMessage;
  };
}

async function compile(schema: Readonly<Record<string, unknown>>): Promise<JsonSchemaValidator<unknown> | null> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  try {
    return new AjvJsonSchemaValidator().getValidator(schema as JsonSchemaType);
  } catch {
    return null;
  }
}
