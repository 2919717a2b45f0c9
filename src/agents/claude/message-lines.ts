import type { z } from 'zod';
import { capJson, capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import { emit, progress, usageAhead } from '../adapter-effects.ts';
import { explain, isPassing, troubleCode } from './outcome.ts';
import { PLAN_TOOL } from './question.ts';
import {
  assistantLine,
  fileResult,
  textBlock,
  thinkingBlock,
  toolResultBlock,
  toolUseBlock,
  userLine,
} from './schema.ts';
import { type Draft, type Reader, reader, remember } from './state.ts';
import { diffOf, editedPath, fieldOf, titleOf, toolKind } from './tools.ts';
import { work } from './turn.ts';

const SYNTHETIC = '<synthetic>';
const MESSAGE_CAP = 4 * 1024;
const PLAN_CAP = 8 * 1024;
const PATH_CAP = 256;
const EDITS_KEPT = 16;
/** With the names of the blocks around the text. */
const CHARACTERS_PER_TOKEN = 5;

type Assistant = z.infer<typeof assistantLine>;
type User = z.infer<typeof userLine>;
/** `parent` tags what a sub-agent says and does with the tool call that started it. */
type Family = { parent?: string };

export const readAssistant = reader('an assistant line', assistantLine, (draft, line) => {
  const { state, effects } = draft;
  const family = familyOf(draft, line);
  if (!state.tells.sessionState && family.parent === undefined) work(draft);
  if (line.error !== undefined) {
    noteTrouble(draft, line, line.error);
    return;
  }
  if (line.message.model !== SYNTHETIC) countAnswer(draft, line.message);
  for (const [index, block] of line.message.content.entries()) {
    const read = BLOCKS.get(block.type);
    if (read) read(draft, block, { ...family, id: `${line.uuid ?? line.message.id}#${index}` });
    else effects.push({ do: 'unknown', name: `assistant/${block.type}` });
  }
});

/**
 * An answer comes in several lines, all with the usage it began with: what went in is right, what comes out is not known yet
 * and reckoned by its length. The sums of the result replace all of it.
 */
function countAnswer({ state, effects }: Draft, { id, content, usage }: Assistant['message']): void {
  const isNew = !state.answers.includes(id);
  if (isNew) {
    state.answers = remember(state.answers, id);
    effects.push({ do: 'answer' });
  }
  if (usage === undefined) return;
  const output = Math.ceil(JSON.stringify(content).length / CHARACTERS_PER_TOKEN);
  const { input_tokens: input, cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite } = usage;
  effects.push(usageAhead(isNew ? { input, output, cacheRead, cacheWrite } : { input: 0, output }));
}

function familyOf({ state }: Draft, line: { parent_tool_use_id?: string | null | undefined }): Family {
  const family = defined({ parent: line.parent_tool_use_id });
  if (family.parent !== undefined) state.hadSubagents = true;
  return family;
}

/** A failed request comes as an answer that Claude made up itself. Whether the turn fails, its result says. */
function noteTrouble(draft: Draft, line: Assistant, kind: string): void {
  const trouble = { kind: kind.slice(0, 64), status: line.api_error_status ?? null };
  const code = troubleCode(trouble, '');
  const text = capText(textOf(line.message.content), MESSAGE_CAP);
  draft.state.trouble = trouble;
  const message = explain(code, text === '' ? kind : text);
  const retryable = isPassing(trouble) || code === 'rate_limit';
  const status = defined({ status: trouble.status });
  const payload = { code, message, fatal: false, scope: 'turn', retryable, ...status } as const;
  draft.effects.push(emit({ type: 'error', payload }));
}

type Place = Family & { id: string };

const readText = reader('a text', textBlock, ({ effects }, { text }, place: Place) => {
  if (text !== '') effects.push({ do: 'text', final: true, kind: 'text', text, ...place });
});

const readThinking = reader('a thought', thinkingBlock, ({ effects }, { thinking: text }, place: Place) => {
  if (text !== '') effects.push({ do: 'text', final: true, kind: 'thinking', text, ...place });
});

const readToolUse = reader('a tool call', toolUseBlock, (draft, { id, name, input }, { id: _, ...family }: Place) => {
  const { state, effects } = draft;
  const path = editedPath(name, input);
  const plan = name === PLAN_TOOL ? fieldOf(input, 'plan') : undefined;
  if (path !== undefined && path.length <= PATH_CAP) state.edits = remember(state.edits, { id, path }, EDITS_KEPT);
  if (plan !== undefined) state.plan = capJson({ id, text: plan }, PLAN_CAP) as { id: string; text: string };
  const payload = { id, name, tool: toolKind(name), title: titleOf(name, input), input, ...family };
  effects.push(emit({ type: 'tool_call', payload }));
});

const BLOCKS: ReadonlyMap<string, Reader<[Place]>> = new Map<string, Reader<[Place]>>([
  ['text', readText],
  ['thinking', readThinking],
  ['tool_use', readToolUse],
  ['redacted_thinking', () => {}],
]);

/** Only results of tools count: other texts are Claude's notes to itself, or our own message repeated. */
export const readUser = reader('a user line', userLine, (draft, line) => {
  if (line.isReplay === true && line.uuid !== undefined) ackMessage(draft, line.uuid);
  const { content } = line.message;
  if (typeof content === 'string') return;
  const family = familyOf(draft, line);
  const results = content.filter((block) => block.type === 'tool_result');
  for (const block of results) readToolResult(draft, block, { ...family, line, isOnly: results.length === 1 });
});

export function ackMessage({ state, effects }: Draft, messageId: string): boolean {
  if (!state.messages.includes(messageId)) return false;
  state.messages = state.messages.filter((message) => message !== messageId);
  effects.push({ do: 'ack', messageId });
  return true;
}

type ResultPlace = Family & { line: User; isOnly: boolean };

const readToolResult = reader('a tool result', toolResultBlock, (draft, block, place: ResultPlace) => {
  const { tool_use_id: id, is_error, content } = block;
  const { line, isOnly, ...family } = place;
  const ok = is_error !== true;
  settleQuestion(draft, id);
  if (ok) readEdit(draft, { id, result: isOnly ? line.tool_use_result : undefined, ...family });
  draft.state.edits = draft.state.edits.filter((edit) => edit.id !== id);
  const text = typeof content === 'string' ? content : textOf(content ?? []);
  const exit = ok ? undefined : /^Exit code (\d{1,3})(?:\n|$)/.exec(text)?.[1];
  const code = exit === undefined ? {} : { exitCode: Number(exit) };
  draft.effects.push(progress({ kind: 'tool_result', id, ok, ...code, text, ...family }));
});

/** The tool ran or was refused, so nobody waits for its permission any more. */
function settleQuestion({ state, effects }: Draft, toolUse: string): void {
  const asked = state.asked.find((request) => request.toolUse === toolUse);
  if (asked === undefined) return;
  const { requestId, isAnswered } = asked;
  state.asked = state.asked.filter((request) => request !== asked);
  effects.push(isAnswered ? { do: 'ack', requestId } : { do: 'withdraw', requestId, by: 'agent' });
}

function readEdit(draft: Draft, { id, result, ...family }: Family & { id: string; result: unknown }): void {
  const { data: done } = fileResult.safeParse(result);
  const path = done?.filePath ?? draft.state.edits.find((known) => known.id === id)?.path;
  if (path === undefined) return;
  const kind = done?.type === 'create' ? 'add' : 'update';
  const payload = { id, path, kind, ...defined({ diff: done && diffOf(done) }), ...family } as const;
  draft.effects.push(emit({ type: 'file_edit', payload }));
}

function textOf(content: readonly Record<string, unknown>[]): string {
  return content.map((block) => fieldOf(block, 'text') ?? `[${fieldOf(block, 'type') ?? 'unknown'}]`).join('\n');
}
