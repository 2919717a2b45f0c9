import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createToolBox } from '../../../src/app/runtime/tool-box.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createIds } from '../../../src/base/ids.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { contextPort } from '../../../src/runtime/engine/context-port.ts';
import type { Emitter } from '../../../src/runtime/engine/emitter.ts';
import { nullEmitter } from '../../../src/runtime/engine/emitter.ts';
import { PRESETS, type RunOptions, run } from '../../../src/runtime/engine/engine.ts';
import { McpPool } from '../../../src/runtime/mcp/pool/pool.ts';
import type { Model } from '../../../src/runtime/models/client.ts';
import { type Message, type UserMessage, userText } from '../../../src/runtime/models/message.ts';
import { createModelRegistry } from '../../../src/runtime/models/registry.ts';
import { createPermissionGate } from '../../../src/runtime/permissions/gate.ts';
import { createRagCache } from '../../../src/runtime/rag/cache.ts';
import { createRagLibrary, ragModels } from '../../../src/runtime/rag/library.ts';
import type { Ports } from '../../../src/runtime/state/app-state.ts';
import { createContext, initAppState, type PortBase } from '../../../src/runtime/state/init.ts';
import type { RequestContext } from '../../../src/runtime/state/request-context.ts';
import { readingTools } from '../../../src/runtime/tools/builtin/fs-read.ts';
import { createLocations } from '../../../src/runtime/tools/builtin/location.ts';
import { createRunCommand } from '../../../src/runtime/tools/command.ts';
import { CustomTools } from '../../../src/runtime/tools/custom/load-custom.ts';
import { createOutputCap } from '../../../src/runtime/tools/output.ts';
import type { AskFn } from '../../../src/runtime/tools/tool.ts';
import { CollectingEmitter } from './collecting-emitter.ts';
import { folder } from './workbench.ts';

export interface World {
  ctx: RequestContext;
  /** The configuration folder. */
  dir: string;
  cwd: string;
  warnings: string[];
  /** What models were sent, in order. */
  sent: { model: Model; messages: readonly Message[]; tools: string[] }[];
  ask(text: string | UserMessage, options?: Partial<RunOptions>, other?: Emitter): Promise<Asked>;
}

export interface Asked {
  outcome: Awaited<ReturnType<typeof run>> | undefined;
  error: unknown;
  events: CollectingEmitter['events'];
}

/** The runtime as the app puts it together: real files, tools, sessions and engine; only the model is scripted. */
export async function openWorld(files: Readonly<Record<string, string>>, asking?: AskFn): Promise<World> {
  const home = folder(Object.fromEntries(Object.entries(files).map(([path, text]) => [`.config/reef/${path}`, text])));
  const dir = join(home, '.config', 'reef');
  const cwd = folder({ 'a.txt': 'alpha\n' });
  const warnings: string[] = [];
  const sent: World['sent'] = [];
  const capabilities = await probeCapabilities();
  const app = initAppState({
    env: { PATH: process.env.PATH ?? '' },
    home,
    cwd,
    version: '1.2.3',
    clock: systemClock,
    onWarning: ({ message }) => warnings.push(message),
    ports: (base) => ports(base, { capabilities, sent, warnings }),
  });
  const ctx = createContext(app, { workingMode: 'repl' });
  await ctx.bootstrapTools();
  onTestFinished(async () => {
    await ctx.close();
    await app.close();
  });
  const ask: AskFn = asking ?? (async () => ({ kind: 'needs_human' }));
  const host = contextPort(ctx, {
    ask,
    gate: createPermissionGate({ rules: app.config.reef.permissions }),
    outputs: createOutputCap(join(home, 'outputs'), createIds(systemClock)),
  });
  let requests = 0;
  return {
    ctx,
    dir,
    cwd,
    warnings,
    sent,
    async ask(text, options = {}, other = nullEmitter) {
      const emitter = new CollectingEmitter();
      requests += 1;
      const input = typeof text === 'string' ? userText(text) : text;
      const request = { requestId: `r${requests}`, input, options: { ...PRESETS.repl_turn, ...options } };
      const settled = await run(host, request, emitter, other).then(
        (outcome) => ({ outcome, error: undefined }),
        (error: unknown) => ({ outcome: undefined, error }),
      );
      return { ...settled, events: emitter.events };
    },
  };
}

interface Shared {
  capabilities: Awaited<ReturnType<typeof probeCapabilities>>;
  sent: World['sent'];
  warnings: string[];
}

function ports(base: PortBase, { capabilities, sent, warnings }: Shared): Ports {
  const { config, paths, clock, cwd, environment } = base;
  const registry = createModelRegistry({
    clients: config.clients,
    catalogue: new Map(),
    fetch,
    fetchByWay: async () => fetch,
    clock,
    reveal: async (configured) => configured,
    env: environment,
    configDir: paths.configDir(),
  });
  const models: Ports['models'] = {
    ...registry,
    client(model) {
      const client = registry.client(model);
      return {
        ...client,
        chat(request, sink) {
          sent.push({
            model,
            messages: structuredClone(request.messages),
            tools: (request.tools ?? []).map(({ name }) => name),
          });
          return client.chat(request, sink);
        },
      };
    },
  };
  const runCommand = createRunCommand({ capabilities, env: environment });
  const customWith = (run: typeof runCommand) =>
    new CustomTools({
      run,
      functionsDir: paths.functionsDir(),
      utilsFile: paths.promptUtilsFile(),
      configDir: paths.configDir(),
      cacheDir: join(paths.configDir(), 'cache'),
      variables: environment,
    });
  const box = createToolBox({
    builtins: () => readingTools(createLocations()),
    custom: customWith(runCommand),
    customAtRest: customWith(() => Promise.reject(new Error('a dry run starts nothing'))),
    toolsDir: join(paths.configDir(), 'functions', 'tools'),
    loopGuard: config.reef.tool_loop,
  });
  const library = createRagLibrary({
    fileOf: ({ kind, name }) => (kind === 'named' ? paths.ragFile(name) : paths.agentRagFile(name)),
    config,
    models: ragModels(registry),
    fetch,
    cwd,
    home: cwd,
    run: runCommand,
    warn: (message: unknown) => warnings.push(String(message)),
  });
  return {
    mcpFactory: new McpPool({
      capabilities,
      env: environment,
      version: '0.0.0',
      clock,
      log: { warn: (message) => warnings.push(message) },
      approvals: { admit: () => Promise.reject(new Error('no server is configured here')) },
      pool: {
        idle_timeout_seconds: 0,
        cleanup_interval_seconds: 30,
        max_idle_servers: 5,
        health_check: { interval: 60, timeout: 5 },
      },
      readSpecs: async () => new Map(),
    }),
    readServers: async () => new Map(),
    ragCache: createRagCache((...request) => library.open(...request)),
    rebuildRag: (key, change) => library.rebuild(key, change),
    models,
    tools: box,
    dynamicInstructions: box.dynamicInstructions,
    team: async ({ spec, parent }) => ({
      supervisor: { cancelAll: async () => {}, running: () => [] },
      inbox: { deliver: () => {}, drain: () => [] },
      escalationQueue: { ask: async () => ({ kind: 'timeout', waitedMs: 1_000 }), open: () => [] },
      selfAgentId: `job-of-${spec.name}`,
      currentDepth: parent ? parent.currentDepth + 1 : 0,
    }),
  };
}
