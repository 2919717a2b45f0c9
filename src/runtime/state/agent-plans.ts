import { existsSync } from 'node:fs';
import type { Lease } from '../../base/lease.ts';
import { ReefError } from '../../protocol/errors.ts';
import { loadAgentSpec } from '../agent-spec/load.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import { agentOf } from '../agent-spec/spec.ts';
import { agentVariables, fillVariables } from '../agent-spec/variables.ts';
import type { Rag } from '../rag/rag.ts';
import { fillFacts, systemFacts } from '../roles/system-facts.ts';
import type { Session } from '../sessions/session.ts';
import { AgentTodos } from '../tools/builtin/agent-todos.ts';
import { type ContextData, notActive } from './context-data.ts';
import { settingsOf } from './resolve.ts';
import type { AgentRuntime } from './scope.ts';
import { openSession, saveOnExit } from './session-life.ts';
import type { Plan } from './transition.ts';

export interface AgentRequest {
  name: string;
  /** The session to enter with it; otherwise `agent_session` of the agent or of the configuration. */
  session?: string | undefined;
  variables?: Readonly<Record<string, string>> | undefined;
  /** The agent that starts this one. */
  parent?: AgentRuntime | undefined;
  signal?: AbortSignal | undefined;
}

/** While an agent is active, the role, session and RAG of the context are set aside. */
export async function planAgent(ctx: ContextData, request: AgentRequest): Promise<Plan> {
  const { app, ui } = ctx;
  if (ctx.agent) throw new ReefError('invalid_state', `agent ${ctx.agent.name} is active: run \`.exit agent\` first`);
  if (!settingsOf(ctx).function_calling_support) {
    throw new ReefError('invalid_state', 'an agent needs tools: run `.set function_calling_support true` first');
  }
  if (!app.team) throw new ReefError('invalid_state', 'agents cannot run here');
  const spec = loadAgentSpec(request.name, { paths: app.paths, env: app.environment, warn: app.warn });
  const rag = await agentRag(ctx, spec, request.signal);
  try {
    const session = await innerSession(ctx, spec, request.session);
    const variables = await agentVariables(spec, {
      given: request.variables ?? {},
      stored: session?.state.agent_variables ?? null,
      env: app.environment,
      fill: (defaults) => app.vault.fill(defaults, `agents.${spec.name}.variables`),
      ask: ui && ((question) => ui.input(question)),
    });
    const agent = agentOf(spec, await instructionsOf(ctx, spec, variables), variables);
    const team = await app.team({ spec, parent: request.parent });
    if (session?.isEmpty) session.set({ agent_variables: variables, agent_instructions: agent.instructions });
    const agentRuntime: AgentRuntime = {
      ...team,
      spec,
      ...(rag && { rag }),
      ...(spec.auto_continue && { todoList: new AgentTodos() }),
      autoContinueCount: 0,
    };
    const suspended = { role: ctx.role, session: ctx.session, rag: ctx.rag };
    const next = { agent, agentRuntime, suspended, session, role: undefined, rag: undefined };
    warnOfLimits({ ...ctx, ...next }, spec);
    return { next, acquired: rag ? [rag] : [] };
  } catch (error) {
    await rag?.release();
    throw error;
  }
}

/** Restores the role, session and RAG that were set aside. */
export function planExitAgent(ctx: ContextData): Plan {
  const { agentRuntime, session, suspended } = ctx;
  if (!agentRuntime) throw notActive('agent');
  const { role, session: covered, rag } = suspended ?? {};
  return {
    next: { agent: undefined, agentRuntime: undefined, suspended: undefined, role, session: covered, rag },
    dropped: agentRuntime.rag ? [agentRuntime.rag] : [],
    async commit() {
      await agentRuntime.supervisor.cancelAll();
      if (session) await saveOnExit(ctx, session);
    },
  };
}

/**
 * All agents of one name share their RAG. Without a definition it is built from the agent's documents; a dry run builds
 * nothing.
 */
async function agentRag(ctx: ContextData, spec: AgentSpec, signal?: AbortSignal): Promise<Lease<Rag> | undefined> {
  const { app } = ctx;
  const key = { kind: 'agent', name: spec.name } as const;
  if (settingsOf(ctx).dry_run) {
    const rag = await app.ragCache.load(key, signal, { isDry: true });
    if (!rag && spec.documents.length > 0)
      warnOf(app, spec, 'its documents are not indexed yet: a dry run leaves them out');
    return rag;
  }
  if (!existsSync(app.paths.agentRagFile(spec.name))) {
    if (spec.documents.length === 0) return undefined;
    await app.rebuildRag(key, { documents: spec.documents, signal });
  }
  return app.ragCache.load(key, signal);
}

async function innerSession(ctx: ContextData, spec: AgentSpec, given?: string): Promise<Session | undefined> {
  const name = given ?? spec.agent_session ?? ctx.app.config.agent_session ?? undefined;
  if (name === undefined) return undefined;
  const inside = { ...ctx, agent: agentOf(spec, '', {}), role: undefined, lastMessage: undefined };
  return openSession(inside, name);
}

async function instructionsOf(
  ctx: ContextData,
  spec: AgentSpec,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const { app } = ctx;
  const isMade = spec.dynamic_instructions && app.dynamicInstructions !== undefined;
  const isDry = settingsOf(ctx).dry_run;
  if (isMade && isDry) warnOf(app, spec, 'a program makes its instructions: a dry run leaves them out');
  const text =
    isMade && !isDry && app.dynamicInstructions ? await app.dynamicInstructions(spec, variables) : spec.instructions;
  const facts = systemFacts({ env: app.environment, cwd: app.cwd, now: app.clock.now() });
  return fillFacts(fillVariables(text, variables), facts);
}

function warnOfLimits(draft: ContextData, spec: AgentSpec): void {
  const { app } = draft;
  const { mcp_server_support } = settingsOf(draft);
  if (!mcp_server_support && spec.mcp_servers.length > 0) {
    warnOf(app, spec, `agent ${spec.name} needs MCP servers, but mcp_server_support is off`);
  }
}

function warnOf({ warn, paths }: ContextData['app'], spec: AgentSpec, message: string): void {
  warn({ file: paths.agentConfigFile(spec.name), line: undefined, message });
}
