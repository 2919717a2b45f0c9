import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type ClientCapabilities,
  type Implementation,
  type InputRequiredResult,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { fingerprint } from '../../base/fingerprint.ts';
import { printable } from '../../base/printable.ts';
import type { OperationName, OperationRequest } from '../../protocol/operations.ts';
import type { Client } from '../client/client.ts';
import { questionsOf, renderQuestion } from '../render/question.ts';
import { createStyle } from '../render/style.ts';

const KEY = 'agreed';
/** More than this nobody reads in a dialog of an editor. */
const MAX_BYTES = 8_192;

interface ToolCall {
  name: OperationName;
  input: unknown;
}

/** What a client says about itself: with each request, or once at the beginning in older revisions. */
function aboutClient({ server }: McpServer, { mcpReq }: ServerContext) {
  const envelope: Record<string, unknown> = mcpReq.envelope ?? {};
  return {
    info: (envelope[CLIENT_INFO_META_KEY] as Implementation | undefined) ?? server.getClientVersion(),
    can: (envelope[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined) ?? server.getClientCapabilities(),
  };
}

/** Whether the client can put a form to its user. */
export function canAsk(server: McpServer, context: ServerContext): boolean {
  const elicitation = aboutClient(server, context).can?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** The program at the other end, by the name it gave. */
export function clientName(server: McpServer, context: ServerContext): string {
  return aboutClient(server, context).info?.name ?? 'unknown';
}

/** `no` as well as `yes` is about this very call: a client that repeats another one is asked again. */
export function answerOf(call: ToolCall, { mcpReq }: ServerContext): 'yes' | 'no' | 'not asked' {
  if (mcpReq.inputResponses === undefined || mcpReq.requestState() !== fingerprint(call)) return 'not asked';
  return acceptedContent(mcpReq.inputResponses, KEY)?.[KEY] === true ? 'yes' : 'no';
}

/** Puts a call that only a person may make to the person at the client. The words are Reef's, never the model's. */
export async function askPerson(
  client: Pick<Client, 'call'>,
  call: ToolCall,
  refusal: string,
): Promise<InputRequiredResult | undefined> {
  const shown = await describe(client, call);
  if (Buffer.byteLength(shown) > MAX_BYTES) return undefined;
  const message = `${refusal}\n\n${shown}\n\nThe model in this client wants to do this now. Do you agree?`;
  const requestedSchema = {
    type: 'object' as const,
    properties: { [KEY]: { type: 'boolean' as const, title: 'I agree', default: false } },
    required: [KEY],
  };
  return inputRequired({
    inputRequests: { [KEY]: inputRequired.elicit({ message, requestedSchema }) },
    requestState: fingerprint(call),
  });
}

/** All of what is agreed to. */
async function describe(client: Pick<Client, 'call'>, { name, input }: ToolCall): Promise<string> {
  const style = createStyle({ colour: false, width: 100, now: new Date() });
  const { id } = input as { id?: string };
  if (name === 'send' && id !== undefined) {
    const { questionId, decision } = input as OperationRequest<'send'>;
    const asked = (await client.call('status', { id })).jobs
      .flatMap(questionsOf)
      .find((each) => questionId === undefined || each.questionId === questionId);
    if (asked) return `${renderQuestion(asked, style, [])}\n  answer   ${decision ?? 'a text of the model'}`;
  }
  const files = name === 'accept' && id !== undefined ? (await client.call('diff', { id })).files : [];
  const diff = files.map(({ status, path }) => `${status} ${path}`);
  return printable([`${name} ${JSON.stringify(input, null, 2)}`, ...diff].join('\n'));
}
