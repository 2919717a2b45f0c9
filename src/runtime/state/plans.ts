import { ReefError } from '../../protocol/errors.ts';
import type { RagKey } from '../rag/rag.ts';
import type { Role } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import type { ContextData } from './context-data.ts';
import { enterRole, openSession, saveOnExit } from './session-life.ts';
import type { Plan } from './transition.ts';

/** What each transition does to a context, before tools and servers are looked at. */

export function planRole(ctx: ContextData, role: Role): Plan {
  if (ctx.agent) throw new ReefError('invalid_state', 'an agent is active: run `.exit agent` first');
  if (!ctx.session) return { next: { role } };
  const session = ctx.session.copy();
  enterRole(session, role);
  return { next: { session } };
}

export function planExitRole(ctx: ContextData): Plan {
  if (ctx.session?.role) {
    const session = ctx.session.copy();
    if (!session.isEmpty) {
      throw new ReefError('invalid_state', 'the session has begun with this role: run `.exit session` first');
    }
    session.role = undefined;
    session.set({ role_name: null });
    return { next: { session, role: undefined } };
  }
  if (!ctx.role) throw new ReefError('invalid_state', 'no role is active: `.role NAME` enters one');
  return { next: { role: undefined } };
}

export async function planSession(ctx: ContextData, name: string | undefined): Promise<Plan> {
  if (ctx.session) {
    throw new ReefError('invalid_state', `session ${ctx.session.name} is active: run \`.exit session\` first`);
  }
  const session = await openSession(ctx, name);
  return { next: { session, ...initAgentSessionVariables(ctx, session.state.agent_variables) } };
}

/** A session of an agent brings back the variables it was held with. */
function initAgentSessionVariables(
  ctx: ContextData,
  variables: Readonly<Record<string, string>> | null,
): Partial<ContextData> {
  return ctx.agent && variables ? { agentVariables: variables, agent: { ...ctx.agent, variables } } : {};
}

export function planExitSession(ctx: ContextData): Plan {
  const { session } = ctx;
  if (!session) throw new ReefError('invalid_state', 'no session is active: `.session [NAME]` enters one');
  return {
    next: { session: undefined, ...(ctx.lastMessage && { lastMessage: { ...ctx.lastMessage, continuous: false } }) },
    commit: () => saveOnExit(ctx, session),
  };
}

export async function planRag(ctx: ContextData, name: string, signal?: AbortSignal): Promise<Plan> {
  if (ctx.agent) throw new ReefError('invalid_state', 'an agent is active: run `.exit agent` first');
  const rag = await ctx.app.ragCache.load({ kind: 'named', name }, signal);
  if (!rag) throw new ReefError('rag_not_found', `there is no RAG ${name}`);
  return { next: { rag }, acquired: [rag], dropped: ctx.rag ? [ctx.rag] : [] };
}

export function planExitRag(ctx: ContextData): Plan {
  if (ctx.agent) throw new ReefError('invalid_state', 'an agent is active: run `.exit agent` first');
  if (!ctx.rag) throw new ReefError('invalid_state', 'no RAG is active: `.rag NAME` enters one');
  return { next: { rag: undefined }, dropped: [ctx.rag] };
}

/** The agent's when there is one, else the standalone's. */
export function activeRagKey(ctx: ContextData): RagKey {
  const active = ctx.agentRuntime ? ctx.agentRuntime.rag : ctx.rag;
  if (!active) throw new ReefError('invalid_state', 'no RAG is active: `.rag NAME` enters one');
  return active.value.key;
}

/** Whoever else holds the old one keeps it; this context has the new one. */
export async function planRagAnew(ctx: ContextData, signal?: AbortSignal): Promise<Plan> {
  const key = activeRagKey(ctx);
  ctx.app.ragCache.invalidate(key);
  const rag = await ctx.app.ragCache.load(key, signal);
  if (!rag) throw new ReefError('rag_not_found', `there is no RAG ${key.name}`);
  const { agentRuntime } = ctx;
  if (agentRuntime?.rag) {
    return { next: { agentRuntime: { ...agentRuntime, rag } }, acquired: [rag], dropped: [agentRuntime.rag] };
  }
  return { next: { rag }, acquired: [rag], dropped: ctx.rag ? [ctx.rag] : [] };
}

/** Undefined where there is none to apply: it is for an empty context and never for a macro. */
export function preludeOf(ctx: ContextData): string | undefined {
  const { repl_prelude, cmd_prelude } = ctx.app.config;
  const prelude = ctx.workingMode === 'repl' ? repl_prelude : ctx.workingMode === 'cmd' ? cmd_prelude : null;
  const isEmpty = !ctx.role && !ctx.session && !ctx.agent && !ctx.rag;
  return isEmpty && !ctx.macroFlag && prelude ? prelude : undefined;
}

/** One plan, so that a session without its role is never left behind. */
export async function planPrelude(ctx: ContextData, prelude: string): Promise<Plan> {
  const match = /^([^:]+):([^:]+)$/.exec(prelude.trim());
  const [, kind, name] = match ?? [];
  if (kind === undefined || name === undefined) {
    throw new ReefError('prelude_invalid', `${JSON.stringify(prelude)} is no prelude`);
  }
  if (kind === 'role') return planRole(ctx, loadRole(ctx.app.paths, name, ctx.app.warn));
  if (kind === 'session') return planSession(ctx, name);
  const plan = await planSession(ctx, kind);
  if (plan.next.session?.isEmpty) enterRole(plan.next.session, loadRole(ctx.app.paths, name, ctx.app.warn));
  return plan;
}
