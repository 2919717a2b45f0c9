import { defined } from '../../base/defined.ts';
import type { AskedQuestion, Json } from '../adapter.ts';
import { badLine, warning } from '../adapter-effects.ts';
import { elicitationSchema, toQuestions } from '../elicitation.ts';
import { cancelRequestSchema, permissionSchema, rpc, type WireId } from './messages.ts';
import { acknowledge, type Draft, endMessage } from './state.ts';
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
    refuse(d, id, METHOD_NOT_FOUND, `Reef does not offer ${method}`);
    // Some agents ask for files and terminals though Reef offered none.
    const isUnoffered = method.startsWith('fs/') || method.startsWith('terminal/');
    d.out.push(
      isUnoffered ? warning(`the agent asked for ${method}, which was not offered`) : { do: 'unknown', name: method },
    );
  }
}

function refuse(d: Draft, id: WireId, code: number, message: string): void {
  d.out.push({ do: 'write', line: rpc.refusal(id, code, message) });
}

function onPermission(d: Draft, { id, params }: Request, isSkeleton: boolean): void {
  const parsed = permissionSchema.safeParse(params);
  if (!parsed.success) {
    refuse(d, id, INVALID_PARAMS, 'a permission needs a toolCall and options');
    d.out.push(badLine('session/request_permission without toolCall or options'));
    return;
  }
  if (isInterrupted(d, id, false)) return;
  const news = parsed.data.toolCall;
  acknowledge(d, news.toolCallId);
  const { name, tool, title, input, changes } = noteTool(d, news, { isSkeleton, isAnnouncement: false });
  const diff = changes.flatMap((change) => change.diff ?? []).join('') || undefined;
  const question = { kind: 'permission', question: `Allow ${tool}: ${title}?`, tool: name, input } as const;
  const wants = tool === 'edit' && changes.length > 0 ? { edits: changes.map(({ path }) => path) } : undefined;
  ask(d, id, { tool: news.toolCallId, isForm: false }, [{ ...question, ...defined({ diff, wants }) }]);
}

function onElicitation(d: Draft, { id, params }: Request): void {
  const parsed = elicitationSchema.safeParse(params);
  if (!parsed.success || !['form', 'url'].includes(parsed.data.mode)) {
    refuse(d, id, INVALID_PARAMS, 'only forms and addresses can be asked');
    d.out.push(badLine('elicitation/create is neither a form nor an address'));
    return;
  }
  if (isInterrupted(d, id, true)) return;
  acknowledge(d, null);
  endMessage(d);
  ask(d, id, { tool: parsed.data.toolCallId ?? null, isForm: true }, toQuestions(parsed.data));
}

/** An interrupted agent gets its answer at once: nobody is asked any more. */
function isInterrupted(d: Draft, id: WireId, isForm: boolean): boolean {
  if (d.state.interrupts.length === 0) return false;
  d.out.push({ do: 'write', line: rpc.reply(id, cancelled(isForm)) });
  return true;
}

type About = { tool: string | null; isForm: boolean };

function ask(d: Draft, id: WireId, about: About, questions: AskedQuestion[]): void {
  const requestId = JSON.stringify(id);
  d.state.open = [...d.state.open, { requestId, ...about, isCancelled: false }];
  d.out.push({ do: 'ask', requestId, questions });
}

export function cancelled(isForm: boolean): Json {
  return isForm ? { action: 'cancel' } : { outcome: { outcome: 'cancelled' } };
}

/** The agent withdraws its request; by the protocol it still gets a reply. */
export function onCancelRequest(d: Draft, params: Json | undefined): void {
  const { data } = cancelRequestSchema.safeParse(params);
  const requestId = JSON.stringify(data?.requestId);
  const isOpen = d.state.open.some((request) => request.requestId === requestId && !request.isCancelled);
  if (!data || !isOpen) return;
  refuse(d, data.requestId, REQUEST_CANCELLED, 'Request cancelled');
  d.out.push({ do: 'withdraw', requestId, by: 'agent' });
  d.state.open = d.state.open.filter((request) => request.requestId !== requestId);
}
