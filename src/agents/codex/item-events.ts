import type { z } from 'zod';
import { defined } from '../../base/defined.ts';
import { progress, warning } from '../adapter-effects.ts';
import { approvable, callEffect, resultEffects, toolItems } from './items.ts';
import { ITEMS_OF_NO_INTEREST } from './known.ts';
import { type delta, type itemEvent, items } from './schema.ts';
import { type CodexState, type MessageCall, subAgent, withoutCall } from './state.ts';
import { type Step, step } from './step.ts';

const MAX_OPEN_TOOLS = 64;
/** A thread edits one at a time, but sub-agents edit too. Each edit may take 128 KiB of the state. */
const MAX_EDITS = 2;

type ItemEvent = z.infer<typeof itemEvent>;

/** The end of a turn closes its tools: what Codex says about them later is ignored. */
const isLate = (state: CodexState, event: ItemEvent) =>
  subAgent(state, event.threadId) === undefined && event.turnId !== state.turnId;

/** Undefined when the item does not fit its type. */
export function itemStarted(state: CodexState, event: ItemEvent): Step<CodexState> | undefined {
  const { item } = event;
  const parent = subAgent(state, event.threadId);
  if (isLate(state, event)) return step(state);
  if (item.type === 'userMessage') return userMessage(state, event);
  const read = toolItems.get(item.type);
  if (read) {
    const found = read(item);
    if (!found) return undefined;
    const openTools = [...state.openTools, found.id].slice(-MAX_OPEN_TOOLS);
    return step({ ...noteEdit(state, item), openTools }, callEffect(found, parent));
  }
  const isKnown = Object.hasOwn(items, item.type) || ITEMS_OF_NO_INTEREST.has(item.type);
  return isKnown ? step(state) : step(state, { do: 'unknown', name: `item ${item.type}` });
}

export function itemCompleted(state: CodexState, event: ItemEvent): Step<CodexState> | undefined {
  const { item } = event;
  const parent = subAgent(state, event.threadId);
  if (isLate(state, event)) return step(state);
  const read = toolItems.get(item.type);
  if (read) {
    const found = read(item);
    if (!found) return undefined;
    const call = state.openTools.includes(found.id) ? [] : [callEffect(found, parent)];
    const openTools = state.openTools.filter((id) => id !== found.id);
    const edits = state.edits.filter((edit) => edit.itemId !== found.id);
    return step({ ...state, openTools, edits }, ...call, ...resultEffects(found, parent));
  }
  switch (item.type) {
    case 'agentMessage':
    case 'plan':
      return saidAll(state, item, parent);
    case 'reasoning':
      return thought(state, item, parent);
    case 'subAgentActivity':
      return subAgentNews(state, item);
    case 'contextCompaction':
      return step(state, warning('Codex summarised the conversation to make room'));
    default:
      return step(state);
  }
}

function noteEdit(state: CodexState, item: ItemEvent['item']): CodexState {
  const { data } = items.fileChange.safeParse(item.type === 'fileChange' ? item : undefined);
  if (!data) return state;
  return { ...state, edits: [...state.edits, { itemId: data.id, ...approvable(data.changes) }].slice(-MAX_EDITS) };
}

/** Acknowledges a message by its id, or, where Codex returns none, by the order of messages in its turn. */
function userMessage(state: CodexState, { item, threadId, turnId }: ItemEvent): Step<CodexState> {
  const { data } = items.userMessage.safeParse(item);
  const clientId = data?.clientId;
  if (subAgent(state, threadId) !== undefined) return step(state);
  const isTaken = (call: MessageCall) => (clientId == null ? call.turnId === turnId : call.messageId === clientId);
  const taken = state.calls.find((call): call is MessageCall => call.for === 'message' && isTaken(call));
  return taken ? step(withoutCall(state, taken.id), { do: 'ack', messageId: taken.messageId }) : step(state);
}

/** Passes on the job's own words as they come; a sub-agent's come when they are whole. */
export function said(state: CodexState, { threadId, itemId, delta: text }: z.infer<typeof delta>): Step<CodexState> {
  if (subAgent(state, threadId) !== undefined) return step(state);
  const streaming = state.streaming.includes(itemId) ? state.streaming : [...state.streaming, itemId];
  return step({ ...state, streaming }, { do: 'text', kind: 'text', id: itemId, text, final: false });
}

/** The item repeats the whole text: it counts only if no piece of it came before. */
function saidAll(state: CodexState, item: unknown, parent: string | undefined): Step<CodexState> | undefined {
  const { data } = items.agentMessage.safeParse(item);
  if (!data) return undefined;
  const text = state.streaming.includes(data.id) ? '' : data.text;
  const streaming = state.streaming.filter((id) => id !== data.id);
  const whole = { do: 'text', kind: 'text', id: data.id, text, final: true, ...defined({ parent }) } as const;
  return step({ ...state, streaming }, whole);
}

function thought(state: CodexState, item: unknown, parent: string | undefined): Step<CodexState> | undefined {
  const { data } = items.reasoning.safeParse(item);
  if (!data) return undefined;
  const text = (data.summary.length > 0 ? data.summary : data.content).join('\n\n');
  if (text === '') return step(state);
  return step(state, { do: 'text', kind: 'thinking', id: data.id, text, final: true, ...defined({ parent }) });
}

function subAgentNews(state: CodexState, item: unknown): Step<CodexState> | undefined {
  const { data } = items.subAgentActivity.safeParse(item);
  if (!data) return undefined;
  const { agentThreadId: id, kind: what, agentPath } = data;
  const text = defined({ text: agentPath });
  return step(state, progress({ kind: 'subagent', id, state: what, ...text }));
}
