import type { Lease } from '../../base/lease.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { expandList } from '../config/expand-list.ts';
import type { McpRuntime, McpServerSpec } from '../mcp/factory.ts';
import { acquireRuntime, releaseRuntime } from '../mcp/scope.ts';
import type { Model, ModelRegistry } from '../models/client.ts';
import type { AppState } from './app-state.ts';
import type { ContextData } from './context-data.ts';
import { layersOf } from './layers.ts';
import { resolve, type Settings } from './resolve.ts';
import type { ToolScope } from './scope.ts';

/** What a transition will make of a context. */
export interface Plan {
  next: Partial<ContextData>;
  /** How the context will look where that is made by `commit` and not by assigning `next`. */
  preview?: Partial<ContextData>;
  /** Leases the plan took; given back if it fails. */
  acquired?: readonly Lease<unknown>[];
  /** Leases the context no longer needs once it has succeeded. */
  dropped?: readonly Lease<unknown>[];
  /** The last step that may fail: what cannot be taken back, such as saving a session. */
  commit?(): Promise<void>;
}

export type Prepare = (ctx: ContextData) => Plan | Promise<Plan>;

/**
 * Resolve, acquire side by side, build functions, commit, assign, release: in that order. Everything before the
 * assignment can fail and leaves the context as it was; the assignment cannot; what was held until then is released after
 * it, so a server both scopes use never stops.
 */
export async function runTransition(ctx: ContextData, prepare: Prepare, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const plan = await prepare(ctx);
  let scope: ToolScope | undefined;
  const before = ctx.toolScope;
  try {
    signal?.throwIfAborted();
    const draft: ContextData = { ...ctx, ...plan.next, ...plan.preview };
    const settings = resolve(layersOf(draft));
    draft.model = modelFor(draft.app, settings);
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

function modelFor(app: AppState, { model }: Settings): Model {
  return app.models.find(model || ensureDefaultModelId(app.models), 'chat');
}

/** The first chat model there is. */
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
  const mcpRuntime = await acquireServers(app, settings, signal);
  try {
    const tools = expandList(settings.enabled_tools, app.config.mapping_tools);
    const functions = await app.ports.tools.build({ tools, context: draft, mcpRuntime });
    return { functions, mcpRuntime, toolTracker: app.ports.tools.tracker() };
  } catch (error) {
    await releaseRuntime(mcpRuntime);
    throw error;
  }
}

async function acquireServers(app: AppState, settings: Settings, signal?: AbortSignal): Promise<McpRuntime> {
  const wanted = expandList(settings.enabled_mcp_servers, app.config.mapping_mcp_servers);
  if (wanted !== 'all' && wanted.length === 0) return { servers: new Map(), unavailable: new Map() };
  const known = await app.ports.readServers();
  const names = wanted === 'all' ? [...known.keys()] : wanted;
  const unavailable = new Map<string, ReefError>();
  const specs: McpServerSpec[] = [];
  const warn = (error: ReefError) =>
    app.warn({ file: app.paths.mcpConfigFile(), line: undefined, message: error.message });
  for (const name of names) {
    const spec = known.get(name);
    if (spec) specs.push(spec);
    else unavailable.set(name, new ReefError('mcp_server_unknown', `there is no MCP server ${name}`));
  }
  for (const error of unavailable.values()) warn(error);
  const runtime = await acquireRuntime(app.mcpFactory, specs, { signal, warn });
  return { servers: runtime.servers, unavailable: new Map([...unavailable, ...runtime.unavailable]) };
}

async function releaseAll(leases: readonly Lease<unknown>[] = []): Promise<void> {
  const outcomes = await Promise.allSettled(leases.map((lease) => lease.release()));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed) throw toReefError(failed.reason);
}
