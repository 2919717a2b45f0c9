import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { type CodeToolArgs, type CodeToolName, type CodeToolResult, codeTools } from '../../protocol/code.ts';
import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { McpQueryError, McpServerError } from './mcp-server-error.ts';
import { robertoAnswer } from './roberto.ts';

export interface Question<T extends CodeToolName> {
  worktreePath: string;
  args: CodeToolArgs<T>;
}

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
/** Our own server puts the code at the beginning of a refusal. */
const CODED = /^([a-z_]+): (.*)$/s;

/** Reads the answer of a tool: structured, as JSON in its text, or in the form of roberto-mcp. */
export async function readToolResult<T extends CodeToolName>(
  tool: T,
  response: unknown,
  question: Question<T>,
): Promise<CodeToolResult<T>> {
  const { worktreePath } = question;
  const result = callResultSchema.safeParse(response).data;
  if (result?.isError) throw queryError(result, worktreePath);
  const text = result?.content?.[0]?.text;
  const value = result?.structuredContent ?? jsonIn(text);
  const own = codeTools[tool].output.safeParse(value);
  if (own.success) return own.data as CodeToolResult<T>;
  const foreign = await robertoAnswer(tool, value ?? text, question);
  if (foreign) return foreign;
  const shown = (text ?? JSON.stringify(response) ?? 'nothing').slice(0, SHOWN);
  const message = `The answer to ${tool} cannot be read: ${shown}`;
  throw new McpServerError('analysis_protocol', message, { worktreePath });
}

function jsonIn(text: string | undefined): unknown {
  const json = text === undefined ? undefined : parseJson(text);
  return json?.ok ? json.value : undefined;
}

function queryError({ structuredContent, content }: CallResult, worktreePath: string): McpQueryError {
  const text = content?.[0]?.text ?? 'The analysis server refused without a reason.';
  const body = [structuredContent, jsonIn(text)]
    .map((value) => errorSchema.safeParse(value).data?.error)
    .find((error) => error !== undefined);
  if (body) {
    const { details } = body;
    return new McpQueryError(knownCode(body.code), body.message, { worktreePath, ...(details && { details }) });
  }
  const [, code = '', message = text] = CODED.exec(text) ?? [];
  const known = knownCode(code);
  return new McpQueryError(known, known === 'mcp_query' ? text : message, { worktreePath });
}

function knownCode(code: string): ErrorCode {
  return Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'mcp_query';
}
