import { ReefError } from '../../protocol/errors.ts';
import type { RagKey } from '../rag/rag.ts';
import type { Role } from '../roles/role.ts';
import { loadRole } from '../roles/role-folder.ts';
import { activeRag, type ContextData, notActive } from './context-data.ts';
import { settingsOf } from './resolve.ts';
import { enterRole, openSession, saveOnExit } from './session-life.ts';
import type { Plan } from './transition.ts';

/** What each transition changes in a context. Tools and servers follow from it. */

function refuseAgent({ agent }: ContextData): void {
  if (agent) throw new ReefError('invalid_state', `agent ${agent.name} is active: run \`.exit agent\` first`);
}

export function planRole(ctx: ContextData, role: Role): Plan {
  refuseAgent(ctx);
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
  if (!ctx.role) throw notActive('role');
  return { next: { role: undefined } };
}

export async function planSession(ctx: ContextData, name: string | undefined): Promise<Plan> {
  if (ctx.session) {
    throw new ReefError('invalid_state', `session ${ctx.session.name} is active: run \`.exit session\` first`);
  }
  const session = await openSession(ctx, name);
  const variables = session.state.agent_variables;
  // A session of an agent brings back the variables it was held with.
  return { next: { session, ...(ctx.agent && variables && { agent: { ...ctx.agent, variables } }) } };
}

export function planExitSession(ctx: ContextData): Plan {
  const { session } = ctx;
  if (!session) throw notActive('session');
  return {
    next: { session: undefined, ...(ctx.lastMessage && { lastMessage: { ...ctx.lastMessage, continuous: false } }) },
    commit: () => saveOnExit(ctx, session),
  };
}

export async function planRag(ctx: ContextData, name: string, signal?: AbortSignal): Promise<Plan> {
  refuseAgent(ctx);
  const { dry_run: isDry } = settingsOf(ctx);
  const rag = await ctx.app.ragCache.load({ kind: 'named', name }, signal, { isDry });
  if (!rag) {
    const more = isDry ? ', or it has no index yet: a dry run builds none' : '';
    throw new ReefError('rag_not_found', `there is no RAG ${name}${more}`);
  }
  return { next: { rag }, acquired: [rag], dropped: ctx.rag ? [ctx.rag] : [] };
}

export function planExitRag(ctx: ContextData): Plan {
  refuseAgent(ctx);
  if (!ctx.rag) throw notActive('rag');
  return { next: { rag: undefined }, dropped: [ctx.rag] };
}

export function activeRagKey(ctx: ContextData): RagKey {
  const rag = activeRag(ctx);
  if (!rag) throw notActive('rag');
  return rag.key;
}

/** This context gets the new index; other holders keep the old one. */
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

/** The prelude that applies: only in an empty context, and never in a macro. */
export function preludeOf(ctx: ContextData): string | undefined {
  const { repl_prelude, cmd_prelude } = ctx.app.config;
  const prelude = ctx.workingMode === 'repl' ? repl_prelude : ctx.workingMode === 'cmd' ? cmd_prelude : null;
  const isEmpty = !ctx.role && !ctx.session && !ctx.agent && !ctx.rag;
  return isEmpty && ctx.macroDepth === 0 && prelude ? prelude : undefined;
}

/** Session and role are one plan: if the role fails, no session is entered. */
export async function planPrelude(ctx: ContextData, prelude: string): Promise<Plan> {
  const match = /^([^:]+):([^:]+)$/.exec(prelude.trim());
  const [, kind, name] = match ?? [];
  if (kind === undefined || name === undefined) {
    throw new ReefError(
      'prelude_invalid',
      `${JSON.stringify(prelude)} is not a prelude: use role:NAME, session:NAME or SESSION:ROLE`,
    );
  }
  if (kind === 'role') return planRole(ctx, loadRole(ctx.app.paths, name, ctx.app.warn));
  if (kind === 'session') return planSession(ctx, name);
  const plan = await planSession(ctx, kind);
  if (plan.next.session?.isEmpty) enterRole(plan.next.session, loadRole(ctx.app.paths, name, ctx.app.warn));
  return plan;
}
