import { appendFile, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { agentPrompt } from '../agent-spec/instructions.ts';
import { type Message, textOf, type UserMessage, type UserPart } from '../models/message.ts';
import { emptyRole, isEmbedded, type Role, roleMessages } from '../roles/role.ts';
import { fillFacts, systemFacts } from '../roles/system-facts.ts';
import { type Facts, promptMessages, tokensOf } from '../sessions/prompt-messages.ts';
import { activeRole, type ContextData, canAskBack } from './context-data.ts';
import { settingsOf } from './resolve.ts';

/** The prompt of the active agent or role, with its facts filled in. */
export function systemPrompt(ctx: ContextData): string {
  const { app, agent, agentRuntime, toolScope } = ctx;
  const prompt = settingsOf(ctx).prompt ?? '';
  if (agent) {
    const isChild = agentRuntime?.parentSupervisor !== undefined;
    const tools = toolScope.functions.declarations();
    return agentPrompt(agent.spec, prompt, { tools, isChild, canAsk: canAskBack(ctx) });
  }
  return fillFacts(prompt, systemFacts({ env: app.environment, cwd: app.cwd, now: app.clock.now() }));
}

/** The settings in effect as one role, whichever layers they come from. */
export function extractRole(ctx: ContextData): Role {
  const role = activeRole(ctx);
  const { model, temperature, top_p, max_output_tokens, prompt } = settingsOf(ctx);
  const { enabled_tools = null, enabled_mcp_servers = null } = ctx.agent ?? ctx.session?.state ?? role ?? {};
  const base = emptyRole(ctx.agent?.name ?? role?.name ?? '', prompt ?? '');
  return { ...base, model: model || null, temperature, top_p, max_output_tokens, enabled_tools, enabled_mcp_servers };
}

/** All messages of the prompt for a question. */
export function turnMessages(ctx: ContextData, input: readonly UserPart[]): Message[] {
  const prompt = systemPrompt(ctx);
  const { session } = ctx;
  if (!session) return roleMessages(prompt, input);
  const embeds = !ctx.agent && isEmbedded(prompt);
  const question: Message[] =
    embeds && session.isEmpty ? roleMessages(prompt, input) : [{ role: 'user', content: [...input] }];
  return [...historyMessages(ctx, embeds ? '' : prompt), ...question];
}

/** System prompt, recap and messages so far. */
export function historyMessages(ctx: ContextData, prompt = systemPrompt(ctx)): Message[] {
  if (!ctx.session) return prompt === '' ? [] : [{ role: 'system', content: prompt }];
  return promptMessages({
    systemPrompt: prompt,
    state: ctx.session.state,
    facts: factsOf(ctx),
    threshold: settingsOf(ctx).compression_threshold,
    recapPrompt: ctx.app.config.summary_context_prompt,
    tokens: ctx.app.tokens,
  });
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

export const usedTokens = (ctx: ContextData) => (ctx.session ? tokensOf(historyMessages(ctx), ctx.app.tokens) : 0);

export interface Turn {
  /** User message first, then tools and answer. */
  messages: readonly Message[];
  output: string;
}

/** Appends question and answer to `messages.md` if there is no session and `save` is on. */
export async function saveMessage(ctx: ContextData, { messages, output }: Turn): Promise<void> {
  const settings = settingsOf(ctx);
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
