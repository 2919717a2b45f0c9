import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { agentPrompt } from '../agent-spec/instructions.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { Message, UserPart } from '../models/message.ts';
import { textOf, type UserMessage } from '../models/message.ts';
import { emptyRole, isEmbedded, type Role, roleMessages } from '../roles/role.ts';
import { fillFacts, systemFacts } from '../roles/system-facts.ts';
import { tokensOf } from '../sessions/message-text.ts';
import { type Facts, promptMessages } from '../sessions/prompt-messages.ts';
import type { ContextData } from './context-data.ts';
import { layersOf } from './layers.ts';
import { resolve, type Settings } from './resolve.ts';

/** What everything about a turn is decided by. */
export const settingsOf = (config: AppConfig, ctx: ContextData): Settings => resolve(layersOf(ctx, config));

/** The prompt of the agent or role in effect, filled in. */
export function systemPrompt(config: AppConfig, ctx: ContextData): string {
  const { app, agent, agentRuntime, toolScope } = ctx;
  const prompt = settingsOf(config, ctx).prompt ?? '';
  if (agent) {
    const isChild = agentRuntime?.parentSupervisor !== undefined;
    return agentPrompt(agent.spec, prompt, { tools: toolScope.functions.declarations(), isChild });
  }
  return fillFacts(prompt, systemFacts({ env: app.environment, cwd: app.cwd, now: app.clock.now() }));
}

/** The role in effect, whatever it comes from: what a one-off question or a new session begins with. */
export function extractRole(config: AppConfig, ctx: ContextData): Role {
  const role = ctx.session?.role ?? ctx.role;
  const { model, temperature, top_p, max_output_tokens, prompt } = settingsOf(config, ctx);
  const { enabled_tools = null, enabled_mcp_servers = null } = ctx.agent ?? ctx.session?.state ?? role ?? {};
  const base = emptyRole(ctx.agent?.name ?? role?.name ?? '', prompt ?? '');
  return { ...base, model: model || null, temperature, top_p, max_output_tokens, enabled_tools, enabled_mcp_servers };
}

/** Everything the model is given for a question, and the user message that goes into the history. */
export function turnMessages(config: AppConfig, ctx: ContextData, input: readonly UserPart[]): Message[] {
  const prompt = systemPrompt(config, ctx);
  const { session } = ctx;
  if (!session) return roleMessages(prompt, input);
  const embeds = !ctx.agent && isEmbedded(prompt);
  const question: Message[] =
    embeds && session.isEmpty ? roleMessages(prompt, input) : [{ role: 'user', content: [...input] }];
  return [...historyMessages(config, ctx, embeds ? '' : prompt), ...question];
}

/** System prompt, recap and messages so far. */
export function historyMessages(config: AppConfig, ctx: ContextData, prompt = systemPrompt(config, ctx)): Message[] {
  if (!ctx.session) return promptWithout(prompt);
  return promptMessages({
    systemPrompt: prompt,
    state: ctx.session.state,
    facts: factsOf(ctx),
    threshold: settingsOf(config, ctx).compression_threshold,
    recapPrompt: config.summary_context_prompt,
    tokens: ctx.app.tokens,
  });
}

function promptWithout(prompt: string): Message[] {
  return prompt === '' ? [] : [{ role: 'system', content: prompt }];
}

function factsOf({ agentRuntime }: ContextData): Facts {
  if (!agentRuntime) return {};
  const { todoList, supervisor, escalationQueue } = agentRuntime;
  return {
    todos: todoList?.hasOpen ? todoList.render() : undefined,
    children: supervisor.running(),
    questions: escalationQueue.open(),
  };
}

export const usedTokens = (ctx: ContextData) =>
  ctx.session ? tokensOf(historyMessages(ctx.app.config, ctx), ctx.app.tokens) : 0;

export interface Turn {
  /** User message first, then tools and answer. */
  messages: readonly Message[];
  output: string;
}

/** Without a session, and if wished for: the question and answer in `messages.md`. */
export async function saveMessage(config: AppConfig, ctx: ContextData, { messages, output }: Turn): Promise<void> {
  const settings = settingsOf(config, ctx);
  if (ctx.session || !settings.save || settings.dry_run || output === '') return;
  const question = messages.find((message): message is UserMessage => message.role === 'user');
  const input = question ? textOf(question) : '';
  const summary = input.replace(/\s+/g, ' ').trim().slice(0, 70);
  const scope = [ctx.agent?.name ?? ctx.role?.name, ctx.rag && `#${ctx.rag.value.key.name}`].filter(Boolean).join('');
  const time = ctx.app.clock.now().toISOString();
  const head = `# CHAT: ${summary} [${time}]${scope === '' ? '' : ` (${scope})`}`;
  const file = ctx.app.paths.messagesFile(ctx.agent?.name);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await appendFile(file, `${head}\n${input}\n--------\n${output}\n--------\n\n`, { mode: 0o600 });
}
