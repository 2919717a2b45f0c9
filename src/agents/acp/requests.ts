import type { Json } from '../adapter.ts';
import { toQuestions } from './elicitation.ts';
import { cancelRequestSchema, elicitationSchema, permissionSchema, rpc, type WireId } from './messages.ts';
import { acknowledge, badLine, type Draft, endMessage, warning } from './state.ts';
import { noteTool } from './tools.ts';

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const REQUEST_CANCELLED = -32800;

interface Request {
  id: WireId;
  method: string;
  params: Json | undefined;
}

/** Every request gets a reply, now or from a person: an agent must not wait for ever. */
export function onRequest(d: Draft, request: Request, isSkeleton: boolean): void {
  if (request.method === 'session/request_permission') onPermission(d, request, isSkeleton);
  else if (request.method === 'elicitation/create') onElicitation(d, request);
  else {
    const { id, method } = request;
    refuse(d, id, [METHOD_NOT_FOUND, `Reef does not offer ${method}`]);
    // Some agents ask for files and terminals though we offered none.
    const isUnoffered = method.startsWith('fs/') || method.startsWith('terminal/');
    d.out.push(isUnoffered ? warning(`the agent asked for ${method}, which was not offered`) : unknown(method));
  }
}

const unknown = (name: string) => ({ do: 'unknown', name }) as const;

function refuse(d: Draft, id: WireId, [code, message]: [number, string]): void {
  d.out.push({ do: 'write', line: rpc.refusal(id, code, message) });
}

function onPermission(d: Draft, { id, params }: Request, isSkeleton: boolean): void {
  const parsed = permissionSchema.safeParse(params);
  if (!parsed.success) {
    refuse(d, id, [INVALID_PARAMS, 'a permission needs a toolCall and options']);
    d.out.push(badLine('session/request_permission without toolCall or options'));
    return;
  }
  if (d.state.interrupts.length > 0) {
    d.out.push({ do: 'write', line: rpc.reply(id, cancelled(false)) });
    return;
  }
  const news = parsed.data.toolCall;
  acknowledge(d, news.toolCallId);
  const { name, tool, title, input, changes } = noteTool(d, news, { isSkeleton, isAnnouncement: false });
  const diff = changes.flatMap((change) => change.diff ?? []).join('');
  const question = { kind: 'permission', question: `Allow ${tool}: ${title}?`, tool: name, input } as const;
  ask(d, id, { tool: news.toolCallId, isForm: false });
  d.out.push({ do: 'ask', requestId: JSON.stringify(id), questions: [diff === '' ? question : { ...question, diff }] });
}

function onElicitation(d: Draft, { id, params }: Request): void {
  const parsed = elicitationSchema.safeParse(params);
  if (!parsed.success || !['form', 'url'].includes(parsed.data.mode)) {
    refuse(d, id, [INVALID_PARAMS, 'only forms and addresses can be asked']);
    d.out.push(badLine('elicitation/create is neither a form nor an address'));
    return;
  }
  if (d.state.interrupts.length > 0) {
    d.out.push({ do: 'write', line: rpc.reply(id, cancelled(true)) });
    return;
  }
  acknowledge(d, null);
  endMessage(d);
  ask(d, id, { tool: parsed.data.toolCallId ?? null, isForm: true });
  d.out.push({ do: 'ask', requestId: JSON.stringify(id), questions: toQuestions(parsed.data) });
}

function ask(d: Draft, id: WireId, about: { tool: string | null; isForm: boolean }): void {
  d.state.open = [...d.state.open, { requestId: JSON.stringify(id), ...about, isCancelled: false }];
}

export function cancelled(isForm: boolean): Json {
  return isForm ? { action: 'cancel' } : { outcome: { outcome: 'cancelled' } };
}

/** The agent no longer wants to know; the protocol wants the request closed all the same. */
export function onCancelRequest(d: Draft, params: Json | undefined): void {
  const { data } = cancelRequestSchema.safeParse(params);
  const requestId = JSON.stringify(data?.requestId);
  const isOpen = d.state.open.some((request) => request.requestId === requestId && !request.isCancelled);
  if (!data || !isOpen) return;
  refuse(d, data.requestId, [REQUEST_CANCELLED, 'Request cancelled']);
  d.out.push({ do: 'withdraw', requestId, by: 'agent' });
  d.state.open = d.state.open.filter((request) => request.requestId !== requestId);
}
