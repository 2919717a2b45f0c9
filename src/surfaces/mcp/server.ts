import { resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
} from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { onFirstUse } from '../../base/lazily.ts';
import { version } from '../../base/version.ts';
import { mayUse, type Operation, type OperationEffect, type User } from '../../protocol/operation.ts';
import { type OperationName, operations } from '../../protocol/operations.ts';
import type { Client } from '../client/client.ts';
import { errorBody } from '../client/request.ts';
import { parseInput } from '../parse-input.ts';
import { renderError } from '../render/error.ts';
import { createStyle } from '../render/style.ts';
import { answerOf, askPerson, canAsk, clientName } from './agreement.ts';
import { Paced, ProtocolLines } from './protocol-lines.ts';
import { ShortWay } from './short-way.ts';
import { resultSchema } from './slim.ts';
import { asTools } from './text.ts';
import { type ToolResult, toolResult } from './tool-result.ts';

/** What a client may tell its user before the call. `acts`: the agent may change files. */
const ANNOTATIONS: Record<OperationEffect, object> = {
  reads: { readOnlyHint: true, openWorldHint: false },
  settles: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  acts: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  ends: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
};

const INSTRUCTIONS = `Reef runs coding agents as jobs. spawn starts one and returns at once; wait returns when a job asks or ends;
output reads its events, starting after a cursor. A job that waits for an answer has the status awaiting_input, and lists its
questions: answer with send. A permission needs a decision, which the user has to make, and the fingerprint of the question.
run does a task by a workflow, in a worktree of its own, with the lint, build and tests of the project between agents; accept
merges it.`;

/** Whom a server serves: an MCP client in a folder, or the agent of a job. */
export interface Served {
  user: Exclude<User, 'person'>;
  folder: string;
}

export function toolsFor(user: User): OperationName[] {
  const rows: Record<OperationName, Operation> = operations;
  const names = Object.keys(rows) as OperationName[];
  return names.filter((name) => rows[name].noTool === undefined && mayUse(rows[name], user));
}

/** A tool as a client sees it. */
export interface Tool {
  name: OperationName;
  about: {
    description: string;
    inputSchema: StandardSchemaWithJSON;
    outputSchema: StandardSchemaWithJSON;
    annotations: object;
  };
}

/** Who serves many clients makes them once: most of the work is in their schemas. */
export function toolList(user: User): Tool[] {
  return toolsFor(user).map((name) => {
    const { summary: description, input, effect }: Operation = operations[name];
    const [inputSchema, outputSchema] = [advertised(input), converted(resultSchema(name))];
    return { name, about: { description, inputSchema, outputSchema, annotations: ANNOTATIONS[effect] } };
  });
}

/** One server for one client. It owns nothing: the daemon does. */
export function createMcpServer(
  client: Pick<Client, 'call'>,
  served: Served,
  tools: readonly Tool[] = toolList(served.user),
): McpServer {
  // The tools of a server stay the same, so nobody has to wait for a change of them.
  const capabilities = { tools: { listChanged: false } };
  const server = new McpServer({ name: 'reef', version }, { instructions: INSTRUCTIONS, capabilities });
  for (const { name, about } of tools) {
    server.registerTool(name, about, (args, context) => answer({ client, server, served }, { name, args }, context));
  }
  return server;
}

/** The only one that the SDK asks for. */
const DRAFT = { target: 'draft-2020-12' } as const;

interface Serving {
  client: Pick<Client, 'call'>;
  server: McpServer;
  served: Served;
}

async function answer(
  { client, server, served }: Serving,
  { name, args }: { name: OperationName; args: unknown },
  context: ServerContext,
): Promise<CallToolResult | InputRequiredResult> {
  let agreed: ReturnType<typeof answerOf> = 'not asked';
  try {
    const call = { name, input: parseInput(name, ofClient(args, served.folder)) };
    agreed = answerOf(call, context);
    const output = await client
      .call(name, call.input as never, {
        signal: context.mcpReq.signal,
        // Two sessions of one program in one folder are one client: it may start this server anew at any time.
        ...(served.user === 'client' && { client: inFolder(clientName(server, context), served) }),
        ...(agreed === 'yes' && { isAgreed: true }),
      })
      .catch(async (error: unknown) => {
        const { code, message } = errorBody(error).error;
        const isForPerson = code === 'person_needed' && agreed === 'not asked' && canAsk(server, context);
        const asked = isForPerson ? await askPerson(client, call, message) : undefined;
        if (asked) return asked;
        throw error;
      });
    if (isInputRequiredResult(output)) return output;
    return toolResult(name, output as never) as CallToolResult & ToolResult;
  } catch (error) {
    const body = errorBody(error);
    const said = renderError(body, createStyle({ colour: false, width: 120, now: new Date() }));
    // What a person has to type stays a command: a tool would be refused again.
    const text = body.error.code === 'person_needed' ? said : asTools(said);
    const no = agreed === 'no' ? '\nThe user was asked and did not agree.' : '';
    return { isError: true, content: [{ type: 'text', text: text + no }] };
  }
}

const inFolder = (client: string, { folder }: Served) => `${client} in ${folder}`;

/** A folder is meant as the client sees it, and `worktree: true` is a new one named after the task. */
function ofClient(args: unknown, folder: string): unknown {
  if (typeof args !== 'object' || args === null) return args;
  const { cwd, worktree }: { cwd?: unknown; worktree?: unknown } = args;
  return {
    ...args,
    ...(typeof cwd === 'string' && { cwd: resolve(folder, cwd) }),
    ...(worktree === true && { worktree: '' }),
  };
}

/** Shown to clients, but not enforced by the SDK: our own check gives errors a code, a field and a hint. */
function advertised(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const { '~standard': standard } = converted(schema);
  return { '~standard': { ...standard, validate: (value: unknown) => ({ value }) } };
}

/** The SDK converts a schema for each client that asks. */
function converted(schema: StandardSchemaWithJSON): StandardSchemaWithJSON {
  const { '~standard': standard } = schema;
  const { jsonSchema } = standard;
  const made = { input: onFirstUse(() => jsonSchema.input(DRAFT)), output: onFirstUse(() => jsonSchema.output(DRAFT)) };
  return { '~standard': { ...standard, jsonSchema: made } };
}

interface Stdio {
  stdin: Readable;
  stdout: Writable;
  tools?: readonly Tool[];
}

/** Serves one client until it disconnects. Starts nothing before the first call. */
export async function serveMcp(open: () => Client, { stdin, stdout, tools, ...served }: Stdio & Served): Promise<void> {
  // Opened late: outside a repository the server starts all the same, and each tool says what is wrong.
  const client: Pick<Client, 'call'> = {
    call: async (operation, input, options) => open().call(operation, input, options),
  };
  let server: McpServer | undefined;
  const short = new ShortWay({
    open: async (name) => (served.user === 'client' ? open().toolLine?.(inFolder(name, served)) : undefined),
    client: () => server?.server.getClientVersion()?.name,
    prepare: (args) => ofClient(args, served.folder),
    stdout,
    pass: (text) => lines.pass(text),
  });
  const reply = (message: object) => stdout.write(`${JSON.stringify(message)}\n`);
  const lines = new ProtocolLines(reply, (value, text) => short.take(value, text));
  const messages = new Paced(stdout);
  void pipeline(stdin, lines, messages).catch(() => {}); // the client went away
  const make = () => {
    server = createMcpServer(client, served, tools);
    return server;
  };
  const handle = serveStdio(make, {
    transport: new StdioServerTransport(messages, stdout),
    onerror: () => {}, // already answered
  });
  await finished(messages, { writable: false }).catch(() => {});
  await short.close();
  await handle.close();
}
