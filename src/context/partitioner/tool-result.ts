import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { type ErrorCode, errorTable } from '../../protocol/errors.ts';
import { McpQueryError, McpServerError } from '../manager/mcp-server-error.ts';
import { parseDirectoryText, parseOutlineText } from './roberto-text.ts';
import { type WireResult, type WireTool, wireSchemas } from './wire.ts';

const callResultSchema = z.object({
  isError: z.boolean().optional(),
  structuredContent: z.unknown().optional(),
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })).optional(),
});
type CallResult = z.infer<typeof callResultSchema>;

const errorSchema = z.object({
  error: z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), z.unknown()).optional() }),
});

const SHOWN = 200;
/** Plain text with which our own server begins a refusal: its code. */
const CODED = /^([a-z_]+): (.*)$/s;

/** What a tool answered: structured, else as JSON in its text, else in roberto-mcp's own words (C-084). */
export function readToolResult<T extends WireTool>(tool: T, response: unknown, worktreePath: string): WireResult<T> {
  const result = callResultSchema.safeParse(response).data;
  if (result?.isError) throw queryError(result, worktreePath);
  const text = result?.content?.[0]?.text;
  for (const value of result ? candidates(tool, result, text) : []) {
    const parsed = wireSchemas[tool].safeParse(value);
    if (parsed.success) return parsed.data as WireResult<T>;
  }
  const shown = (text ?? JSON.stringify(response) ?? 'nothing').slice(0, SHOWN);
  throw new McpServerError('analysis_protocol', `The answer to ${tool} is none: ${shown}`, { worktreePath });
}

function* candidates(tool: WireTool, { structuredContent }: CallResult, text: string | undefined): Generator<unknown> {
  if (structuredContent !== undefined) return yield structuredContent;
  if (text === undefined) return;
  const json = parseJson(text);
  if (json.ok) return yield json.value;
  if (tool === 'get_file_outline') yield parseOutlineText(text);
  if (tool === 'get_directory_outline') yield parseDirectoryText(text);
}

function queryError({ structuredContent, content }: CallResult, worktreePath: string): McpQueryError {
  const text = content?.[0]?.text ?? 'The analysis server refused without a reason.';
  const json = parseJson(text);
  const body = [structuredContent, json.ok ? json.value : undefined]
    .map((value) => errorSchema.safeParse(value).data?.error)
    .find((error) => error !== undefined);
  const [, code = '', message = text] = CODED.exec(text) ?? [];
  if (body) {
    const { details } = body;
    return new McpQueryError(knownCode(body.code), body.message, { worktreePath, ...(details && { details }) });
  }
  const known = knownCode(code);
  return new McpQueryError(known, known === 'mcp_query' ? text : message, { worktreePath });
}

function knownCode(code: string): ErrorCode {
  return Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'mcp_query';
}
