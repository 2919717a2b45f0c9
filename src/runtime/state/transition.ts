import type { Lease } from '../../base/lease.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { McpRuntime, McpServerSpec } from '../mcp/factory.ts';
import { acquireRuntime, releaseRuntime } from '../mcp/scope.ts';
import type { ModelRegistry } from '../models/client.ts';
import type { AppState, ContextData } from './context-data.ts';
import { type Settings, settingsOf } from './resolve.ts';
import type { ToolScope } from './scope.ts';

/** What a transition changes in a context. */
export interface Plan {
  next: Partial<ContextData>;
  /** How the context will look after `commit`, where `next` does not say it. */
  preview?: Partial<ContextData>;
  /** Leases the plan took. They are released if the transition fails. */
  acquired?: readonly Lease<unknown>[];
  /** Leases the context no longer needs after the transition. */
  dropped?: readonly Lease<unknown>[];
  /** The last step that may fail. It does what cannot be undone, such as saving a session. */
  commit?(): Promise<void>;
}

export type Prepare = (ctx: ContextData) => Plan | Promise<Plan>;

/**
 * Resolves settings, acquires servers, builds functions, commits, assigns, releases: in that order. A failure before the
 * assignment leaves the context as it was. Old servers are released last, so one that both scopes use never stops.
 */
export async function runTransition(ctx: ContextData, prepare: Prepare, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const plan = await prepare(ctx);
  let scope: ToolScope | undefined;
  const before = ctx.toolScope;
  try {
    signal?.throwIfAborted();
    const draft: ContextData = { ...ctx, ...plan.next, ...plan.preview };
    const settings = settingsOf(draft);
    draft.model = draft.app.models.find(settings.model || ensureDefaultModelId(draft.app.models), 'chat');
    scope = await buildScope(draft, settings, signal);
    signal?.throwIfAborted();
    await plan.commit?.();
    Object.assign(ctx, plan.next, { model: draft.model, toolScope: scope });
  } catch (error) {
    if (scope) await releaseRuntime(scope.mcpRuntime);
    await releaseAll(plan.acquired);
    if (signal?.aborted) throw new ReefError('cancelled', 'the change of scope was stopped', { cause: error });
    throw error;
  }
  await releaseRuntime(before.mcpRuntime);
  await releaseAll(plan.dropped);
}

/** The first chat model of the configuration. */
export function ensureDefaultModelId(models: Pick<ModelRegistry, 'first'>): string {
  const first = models.first('chat');
  if (first) return first.id;
  throw new ReefError(
    'model_missing',
    'no model is configured: set `model` and `clients` in config.yaml, pass --model, or set REEF_PLATFORM and its API key',
  );
}

async function buildScope(draft: ContextData, settings: Settings, signal?: AbortSignal): Promise<ToolScope> {
  const { app } = draft;
  const mcpRuntime = settings.dry_run ? NO_SERVERS : await acquireServers(app, settings, signal);
  try {
    const tools = expandList(settings.enabled_tools, app.config.mapping_tools);
    const functions = await app.tools.build({ tools, context: draft, mcpRuntime });
    warnOfMuteModel(draft, tools.length > 0 || mcpRuntime.servers.size > 0 || draft.agent !== undefined);
    return { functions, mcpRuntime, toolTracker: app.tools.tracker() };
  } catch (error) {
    await releaseRuntime(mcpRuntime);
    throw error;
  }
}

const NO_SERVERS: McpRuntime = { servers: new Map(), unavailable: new Map() };

/** Loki's default is that a model calls no functions, and so is ours: a server may refuse a request with tools. */
function warnOfMuteModel({ app, model }: ContextData, hasTools: boolean): void {
  if (!hasTools || model.data.supports_function_calling === true) return;
  const how =
    model.data.supports_function_calling === false
      ? 'its entry in the list of models says that it cannot call functions'
      : 'it is not known to call functions: `reef ask --sync-models` updates the list of models, or write supports_function_calling: true to its entry in `models` of the client';
  const message = `${model.id} is sent no tools: ${how}`;
  app.warn({ file: app.paths.configFile(), line: undefined, message });
}

async function acquireServers(app: AppState, settings: Settings, signal?: AbortSignal): Promise<McpRuntime> {
  const wanted = expandList(settings.enabled_mcp_servers, app.config.mapping_mcp_servers);
  if (wanted !== 'all' && wanted.length === 0) return NO_SERVERS;
  const known = await app.readServers();
  const names = wanted === 'all' ? [...known.keys()] : wanted;
  const warn = (error: ReefError) =>
    app.warn({ file: app.paths.mcpConfigFile(), line: undefined, message: error.message });
  const specs: McpServerSpec[] = [];
  const unknown = new Map<string, ReefError>();
  for (const name of names) {
    const spec = known.get(name);
    if (spec) specs.push(spec);
    else unknown.set(name, new ReefError('mcp_server_unknown', `there is no MCP server ${name}`));
  }
  for (const error of unknown.values()) warn(error);
  const { servers, unavailable } = await acquireRuntime(app.mcpFactory, specs, { signal, warn });
  return { servers, unavailable: new Map([...unknown, ...unavailable]) };
}

/** Expands a comma list of names, aliases and `all`. Each name comes once; an alias inside an alias is not expanded. */
function expandList(list: string | null, aliases: Readonly<Record<string, string>>): 'all' | string[] {
  const split = (text: string) => text.split(',').flatMap((name) => name.trim() || []);
  const names = split(list ?? '').flatMap((name) => (Object.hasOwn(aliases, name) ? split(aliases[name] ?? '') : name));
  return names.includes('all') ? 'all' : [...new Set(names)];
}

async function releaseAll(leases: readonly Lease<unknown>[] = []): Promise<void> {
  const outcomes = await Promise.allSettled(leases.map((lease) => lease.release()));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw toReefError(failed.reason);
}
