import type { z } from 'zod';
import { capText } from '../../base/cap.ts';
import type { Adapter, AgentLine, Effect, Exit } from '../adapter.ts';
import { badLine, progress, TOKENS_PER_ANSWER, usageAhead, warning } from '../adapter-effects.ts';
import { describeExec, execCommand } from './command.ts';
import * as schema from './exec-schema.ts';
import { type Failure, failedTurn, isRetryNotice, retryNotice, toldFailure } from './failure.ts';
import {
  agentTool,
  callEffect,
  changeTool,
  commandTool,
  mcpTool,
  resultEffects,
  searchTool,
  type ToolItem,
  type ToolReader,
  toolReader,
} from './items.ts';
import { onStderr, type SandboxState, sandboxEnd } from './sandbox.ts';
import { isTyped } from './schema.ts';
import { type Handler, on, type Step, step, usageEffect } from './step.ts';

/** Codex through `codex exec --json`, the fallback: one prompt, one turn, one exit, and it can ask nothing. */
export const codexExecAdapter: Adapter<ExecState> = {
  describe: describeExec,
  command: execCommand,
  initial: (_, machine) => ({
    isSandboxed: machine.agentSandbox,
    isSandboxBroken: false,
    retries: 0,
    result: '',
    answer: 'none',
    openTools: [],
  }),
  parse: execParse,
  encode: (_, { kind }) => ({
    refuse: kind === 'answer' ? 'question_not_found' : 'send_unsupported',
    message: `codex exec hears nothing while it runs, and takes no ${kind}`,
  }),
  finish,
};

function finish(state: ExecState, { stderrTail }: Exit): ReturnType<Adapter['finish']> {
  const lost = /no rollout found for thread id \S+/.exec(stderrTail);
  if (lost) return { code: 'no_session', message: `Codex does not know this conversation: ${lost[0]}` };
  return sandboxEnd(state);
}

const RESULT_CAP = 8 * 1024;

type ExecState = SandboxState & {
  retries: number;
  /** The agent's last words: the result of its turn. */
  result: string;
  /** What the model's current answer consists of so far. Codex does not say where an answer ends. */
  answer: 'none' | 'thinking' | 'spoken' | 'acting';
  openTools: string[];
};

type ExecStep = Step<ExecState>;

const handlers: ReadonlyMap<string, Handler<ExecState>> = new Map([
  [
    'thread.started',
    on(schema.threadStarted, (state, { thread_id: sessionId }) => step(state, { do: 'session', sessionId })),
  ],
  ['turn.started', (state) => step({ ...state, retries: 0, answer: 'none' }, { do: 'turn', is: 'begun' })],
  ['turn.completed', on(schema.turnCompleted, turnCompleted)],
  ['turn.failed', on(schema.turnFailed, (state, { error }) => step(state, failedTurn(failureOf(error.message), null)))],
  ['error', on(schema.failure, failed)],
  ['item.started', on(schema.itemLine, (state, { item }) => itemStarted(state, item))],
  ['item.updated', on(schema.itemLine, (state, { item }) => planNews(state, item) ?? step(state))],
  ['item.completed', on(schema.itemLine, (state, { item }) => itemCompleted(state, item))],
]);

function execParse(state: ExecState, line: AgentLine): ExecStep {
  if (line.stream === 'err') return onStderr(state, line.text);
  const { json } = line;
  if (!isTyped(json)) return step(state, badLine('Codex wrote a line that is not a message of its protocol'));
  const handle = handlers.get(json.type);
  if (!handle) return step(state, { do: 'unknown', name: json.type });
  return handle(state, json) ?? step(state, badLine(`Codex wrote a ${json.type} that Reef cannot read`));
}

/** The usage is the total of the thread, over all its runs. */
function turnCompleted(state: ExecState, { usage }: z.infer<typeof schema.turnCompleted>): ExecStep {
  const counts = {
    inputTokens: usage.input_tokens,
    cachedInputTokens: usage.cached_input_tokens,
    cacheWriteInputTokens: usage.cache_write_input_tokens,
    outputTokens: usage.output_tokens,
    reasoningOutputTokens: usage.reasoning_output_tokens,
  };
  const over = { do: 'turn', is: 'over', outcome: 'done', result: state.result } as const;
  return step(state, usageEffect(counts, 'session'), over);
}

function failed(state: ExecState, { message }: z.infer<typeof schema.failure>): ExecStep {
  const failure = failureOf(message);
  if (!isRetryNotice(message)) return step(state, toldFailure(failure));
  const retries = state.retries + 1;
  return step({ ...state, retries }, retryNotice(failure, undefined, retries));
}

/** `exec` gives a failure as one sentence, with the provider's status in it. */
function failureOf(message: string): Failure {
  const status = /\bstatus:? (\d{3})\b/.exec(message)?.[1];
  const kind = /hit your usage limit/i.test(message) ? 'usageLimitExceeded' : undefined;
  return { message, kind, status: status === undefined ? undefined : Number(status) };
}

type Item = z.infer<typeof schema.itemLine>['item'];

const TOLD_WHEN_OVER: ReadonlySet<string> = new Set(['agent_message', 'reasoning', 'error']);

const tellError = on(schema.failure, (state: ExecState, { message }) => step(state, warning(message)));

function itemStarted(state: ExecState, item: Item): ExecStep | undefined {
  const read = execTools.get(item.type);
  if (!read) return planNews(state, item) ?? (TOLD_WHEN_OVER.has(item.type) ? step(state) : unknownItem(state, item));
  const tool = read(item);
  if (!tool) return undefined;
  const { state: next, effects } = answering(state, 'acting');
  return step({ ...next, openTools: [...state.openTools, tool.id] }, ...effects, callEffect(tool));
}

function itemCompleted(state: ExecState, item: Item): ExecStep | undefined {
  const read = execTools.get(item.type);
  if (read) return toolCompleted(state, read(item));
  if (item.type === 'agent_message') return spoken(state, item, 'text');
  if (item.type === 'reasoning') return spoken(state, item, 'thinking');
  if (item.type === 'error') return tellError(state, item);
  return planNews(state, item) ?? unknownItem(state, item);
}

function toolCompleted(state: ExecState, tool: ToolItem | undefined): ExecStep | undefined {
  if (!tool) return undefined;
  const isOpen = state.openTools.includes(tool.id);
  const begun = isOpen ? step(state) : answering(state, 'acting');
  const openTools = state.openTools.filter((id) => id !== tool.id);
  const call = isOpen ? [] : [callEffect(tool)];
  return step({ ...begun.state, openTools }, ...begun.effects, ...call, ...resultEffects(tool));
}

function spoken(state: ExecState, item: Item, kind: 'text' | 'thinking'): ExecStep | undefined {
  const { data } = schema.said.safeParse(item);
  if (!data) return undefined;
  const { state: next, effects } = answering(state, kind === 'text' ? 'spoken' : 'thinking');
  const result = kind === 'text' ? capText(data.text, RESULT_CAP) : state.result;
  return step({ ...next, result }, ...effects, { do: 'text', kind, id: data.id, text: data.text, final: true });
}

const ORDER = ['none', 'thinking', 'spoken', 'acting'] as const;

/**
 * An answer of the model thinks, then speaks, then acts. A part that comes again or out of this order begins the next
 * answer, except further tools while one is running.
 */
function answering(state: ExecState, part: 'thinking' | 'spoken' | 'acting'): ExecStep {
  const isParallel = part === 'acting' && state.openTools.length > 0;
  const isSame = state.answer !== 'none' && (isParallel || ORDER.indexOf(part) > ORDER.indexOf(state.answer));
  return step({ ...state, answer: part }, ...(isSame ? [] : newAnswer()));
}

const newAnswer = (): Effect[] => [{ do: 'answer' }, usageAhead({ input: TOKENS_PER_ANSWER, output: 0 })];

function planNews(state: ExecState, item: Item): ExecStep | undefined {
  const { data } = schema.todoList.safeParse(item.type === 'todo_list' ? item : undefined);
  if (!data) return undefined;
  const entries = data.items.map(({ text, completed }) => ({ text, status: completed ? 'completed' : 'pending' }));
  return step(state, progress({ kind: 'plan', entries }));
}

const unknownItem = (state: ExecState, item: Item): ExecStep =>
  step(state, { do: 'unknown', name: `item ${item.type}` });

/** The items of `codex exec` that are tools, by type. They carry no diffs. */
export const execTools: ReadonlyMap<string, ToolReader> = new Map([
  [
    'command_execution',
    toolReader(schema.commandExecution, ({ aggregated_output: output, exit_code: exitCode, ...item }) =>
      commandTool({ ...item, output, exitCode }),
    ),
  ],
  [
    'file_change',
    toolReader(schema.fileChange, ({ id, changes, status }) =>
      changeTool(
        status,
        changes,
        changes.map((change) => ({ id, ...change })),
      ),
    ),
  ],
  ['mcp_tool_call', mcpTool],
  ['collab_tool_call', agentTool],
  ['web_search', searchTool],
]);
