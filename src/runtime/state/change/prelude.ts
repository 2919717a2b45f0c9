import { ReefError } from '../../../protocol/errors.ts';
import { loadRole } from '../../roles/role-folder.ts';
import type { ContextData } from '../context-data.ts';
import { planRole, planSession } from './plans.ts';
import { enterRole } from './session-life.ts';
import type { Plan } from './transition.ts';

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
