import type { z } from 'zod';
import type { Json } from '../adapter.ts';
import { badLine, progress, warning } from '../adapter-effects.ts';
import { updateSchema, updateSchemas } from './messages.ts';
import { acknowledge, addToMessage, type Draft, endMessage, takePrompt } from './state.ts';
import { noteTool } from './tools.ts';
import { costReport } from './turn.ts';

type Handler = (d: Draft, update: { sessionUpdate: string }, isSkeleton: boolean) => void;

const nothing: Handler = () => {};

const handlers = new Map<string, Handler>([
  ['agent_message_chunk', reading(updateSchemas.chunk, (d, chunk) => onChunk(d, 'text', chunk))],
  ['agent_thought_chunk', reading(updateSchemas.chunk, (d, chunk) => onChunk(d, 'thinking', chunk))],
  ['tool_call', readingTool({ isAnnouncement: true })],
  ['tool_call_update', readingTool({ isAnnouncement: false })],
  ['plan', reading(updateSchemas.plan, onPlan)],
  ['usage_update', reading(updateSchemas.usage, onUsage)],
  ['notice', reading(updateSchemas.notice, onNotice)],
  ['user_message_chunk', takePrompt],
  ['compaction_update', reading(updateSchemas.compaction, onCompaction)],
  ['compaction_summary_chunk', takePrompt],
  // These are about the session and come at any time: they do not show that a prompt was read.
  ['available_commands_update', nothing],
  ['current_mode_update', nothing],
  ['config_option_update', nothing],
  ['session_info_update', nothing],
]);

export function onUpdate(d: Draft, params: Json | undefined, isSkeleton: boolean): void {
  // Until the session is open `session/load` replays history, which made its events before.
  if (d.state.stage !== 'ready') return;
  const { data } = updateSchema.safeParse(params);
  const handler = handlers.get(data?.update.sessionUpdate ?? '');
  if (!data) d.out.push(badLine('session/update without an update'));
  else if (handler) handler(d, data.update, isSkeleton);
  else d.out.push({ do: 'unknown', name: `session/update ${data.update.sessionUpdate}` });
}

function reading<T>(schema: z.ZodType<T>, use: (d: Draft, value: T, isSkeleton: boolean) => void): Handler {
  return (d, update, isSkeleton) => {
    const parsed = schema.safeParse(update);
    if (parsed.success) use(d, parsed.data, isSkeleton);
    else d.out.push(badLine(`session/update ${update.sessionUpdate}: ${parsed.error.issues[0]?.message}`));
  };
}

function onChunk(d: Draft, kind: 'text' | 'thinking', chunk: z.infer<typeof updateSchemas.chunk>): void {
  acknowledge(d, null);
  const { type, text } = chunk.content;
  if (typeof text === 'string') addToMessage(d, { kind, wireId: chunk.messageId ?? null, text });
  else d.out.push({ do: 'unknown', name: `content ${type}` });
}

function readingTool(source: { isAnnouncement: boolean }): Handler {
  return reading(updateSchemas.tool, (d, news, isSkeleton) => {
    acknowledge(d, news.toolCallId);
    noteTool(d, news, { isSkeleton, ...source });
  });
}

function onPlan(d: Draft, plan: z.infer<typeof updateSchemas.plan>): void {
  acknowledge(d, null);
  endMessage(d);
  const entries = plan.entries.map(({ content, status }) => ({ text: content, ...(status ? { status } : {}) }));
  d.out.push(progress({ kind: 'plan', entries }));
}

function onUsage(d: Draft, { cost }: z.infer<typeof updateSchemas.usage>): void {
  takePrompt(d);
  // opencode reports 0 for models whose price it does not know.
  if (cost?.currency !== 'USD' || cost.amount === d.state.costUsd) return;
  d.state.costUsd = cost.amount;
  d.out.push({ do: 'usage', report: costReport(d.state.agent.name, cost.amount) });
}

/** It is told once, when it has ended one way or the other. */
function onCompaction(d: Draft, { status, error }: z.infer<typeof updateSchemas.compaction>): void {
  takePrompt(d);
  const { name } = d.state.agent;
  if (status === 'completed') d.out.push(warning(`${name} summarised the conversation to make room`));
  if (status !== 'failed') return;
  d.out.push(warning(`${name} could not summarise the conversation${error ? `: ${error}` : ''}`));
}

function onNotice(d: Draft, { title, description }: z.infer<typeof updateSchemas.notice>): void {
  d.out.push(warning(description ? `${title}: ${description}` : title));
}
