import { ReefError } from '../../protocol/errors.ts';
import { TEMP_SESSION } from '../../runtime/sessions/session.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';

/** The flags that `ask` and `chat` begin with. */
export interface ScopeOptions {
  model?: string;
  prompt?: string;
  role?: string;
  session?: string | true;
  emptySession?: true;
  saveSession?: true;
  agent?: string;
  agentVariable?: string[];
  rag?: string;
  rebuildRag?: true;
  stream: boolean;
  dryRun?: true;
  yes?: true;
}

/** What holds for this request only. */
export function overridesOf({ model, stream, dryRun }: ScopeOptions) {
  return { ...(model !== undefined && { model }), ...(!stream && { stream: false }), ...(dryRun && { dry_run: true }) };
}

/** Brings a fresh context to where the flags want it. */
export async function enterScope(ctx: RequestContext, options: ScopeOptions, signal?: AbortSignal): Promise<void> {
  const session = options.session === true ? TEMP_SESSION : options.session;
  if (options.agent !== undefined) {
    await ctx.useAgent({ name: options.agent, session, variables: variablesOf(options.agentVariable), signal });
  } else await enterPlain(ctx, { ...options, session: session ?? '' }, signal);
  if (options.rebuildRag) await ctx.rebuildRag(signal);
  if (options.emptySession) ctx.emptySession();
  if (options.saveSession) ctx.setSaveSessionThisTime();
}

async function enterPlain(
  ctx: RequestContext,
  { prompt, role, session, rag }: ScopeOptions & { session: string },
  signal?: AbortSignal,
): Promise<void> {
  if (prompt !== undefined) await ctx.usePrompt(prompt, signal);
  else if (role !== undefined) await ctx.useRole(role, signal);
  else if (session === '' && rag === undefined) await ctx.bootstrapTools(signal);
  if (session !== '') await ctx.useSession(session, signal);
  if (rag !== undefined) await ctx.useRag(rag, signal);
}

function variablesOf(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new ReefError('bad_request', '--agent-variable: expected NAME VALUE');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Saves what is to be saved, and lets go of everything. */
export async function leaveScope(ctx: RequestContext): Promise<void> {
  try {
    if (ctx.agent) await ctx.exitAgent();
    if (ctx.session) await ctx.exitSession();
  } finally {
    await ctx.close();
    await ctx.app.close();
  }
}
