import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { NO_STATS } from '../../../src/runtime/mcp/factory.ts';
import { readMcpFile } from '../../../src/runtime/mcp/mcp-file.ts';
import { metaTools } from '../../../src/runtime/mcp/meta/meta-tools.ts';
import { createModelRegistry } from '../../../src/runtime/models/registry.ts';
import { createToolCallTracker } from '../../../src/runtime/permissions/loop-guard.ts';
import { createRagCache } from '../../../src/runtime/rag/cache.ts';
import { createRagLibrary, ragModels } from '../../../src/runtime/rag/library.ts';
import type { AppState, Ports } from '../../../src/runtime/state/app-state.ts';
import {
  type ContextOptions,
  createContext,
  type InitOptions,
  initAppState,
  type PortBase,
} from '../../../src/runtime/state/init.ts';
import type { RequestContext } from '../../../src/runtime/state/request-context.ts';
import type { AgentTeam } from '../../../src/runtime/state/scope.ts';
import { createFunctions, type Tool } from '../../../src/runtime/tools/tool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { SERVER, type TestFactory, testFactory } from './mcp.ts';

export interface World extends AsyncDisposable {
  dir: string;
  app: AppState;
  factory: TestFactory;
  warnings: string[];
  /** Agents that were cancelled, by name. */
  cancelled: string[];
  write(path: string, text: string): string;
  context(options?: Partial<ContextOptions>): RequestContext;
}

interface WorldOptions {
  /** Paths below the configuration folder. */
  files?: Record<string, string>;
  env?: Record<string, string>;
  clock?: Clock;
  /** Whether a server nobody holds is kept for a while. */
  keepsIdle?: boolean;
  /** To break a part on purpose. */
  ports?: (ports: Ports) => Partial<Ports>;
  init?: Partial<InitOptions>;
}

const CONFIG = `
model: fake:one
clients:
  - type: openai-compatible
    name: fake
    api_base: http://127.0.0.1:9
    models:
      - { name: one, max_input_tokens: 8000, supports_function_calling: true }
      - { name: two, max_input_tokens: 4000, max_output_tokens: 100, supports_function_calling: true }
      - { name: dumb, supports_function_calling: false }
      - { name: rerank, type: reranker }
  - { type: scripted, models: [{ name: script.yaml }] }
`;

/** Real files, real servers, real index, scripted model; only the tools themselves do nothing. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const dir = temporaryFolder();
  const config = join(dir, '.config', 'reef');
  const write = (path: string, text: string) => {
    const file = join(config, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const servers = Object.fromEntries(
    ['github', 'jira', 'slack'].map((name) => [name, { command: process.execPath, args: [SERVER, `--as-${name}`] }]),
  );
  const files = { 'config.yaml': '', 'functions/mcp.json': JSON.stringify({ mcpServers: servers }), ...options.files };
  for (const [path, text] of Object.entries(files)) write(path, path === 'config.yaml' ? CONFIG + text : text);
  const warnings: string[] = [];
  const cancelled: string[] = [];
  const factory = lazyFactory(options.keepsIdle ?? true);
  const app = initAppState({
    env: options.env ?? {},
    home: dir,
    cwd: dir,
    version: '1.2.3',
    clock: options.clock ?? systemClock,
    onWarning: ({ message }) => warnings.push(message),
    ports(base) {
      const ports = realPorts(base, { factory, cancelled });
      return { ...ports, ...options.ports?.(ports) };
    },
    ...options.init,
  });
  return {
    dir: config,
    app,
    factory,
    warnings,
    cancelled,
    write,
    context: (more = {}) => createContext(app, { workingMode: 'repl', ...more }),
    async [Symbol.asyncDispose]() {
      await factory.close();
    },
  };
}

/** The real one, made when the first server is wanted: looking at what the machine can do takes its time. */
function lazyFactory(keepsIdle: boolean): TestFactory {
  let made: Promise<TestFactory> | undefined;
  let real: TestFactory | undefined;
  const close = async () => (await made)?.close();
  return {
    async acquire(spec, options) {
      made ??= testFactory(keepsIdle ? {} : { pool: { idle_timeout_seconds: 0 } });
      real = await made;
      return real.acquire(spec, options);
    },
    stats: () => real?.stats() ?? NO_STATS,
    reload: async (name) => (await made)?.reload(name),
    close,
    warnings: [],
    [Symbol.asyncDispose]: close,
  };
}

function realPorts(base: PortBase, { factory, cancelled }: { factory: TestFactory; cancelled: string[] }): Ports {
  const { config, paths, vault } = base;
  const registry = createModelRegistry({
    clients: config.clients,
    catalogue: new Map(),
    fetch,
    fetchByWay: async () => fetch,
    clock: base.clock,
    reveal: (configured) => vault.fill(configured, 'clients'),
    env: base.environment,
    configDir: paths.configDir(),
  });
  const library = createRagLibrary({
    fileOf: ({ kind, name }) => (kind === 'named' ? paths.ragFile(name) : paths.agentRagFile(name)),
    config,
    models: ragModels(registry),
    fetch,
    cwd: base.cwd,
    home: base.cwd,
    run: () => Promise.reject(new Error('no loader is configured here')),
    warn: () => {},
  });
  return {
    mcpFactory: factory,
    readServers: () =>
      readMcpFile({ path: paths.mcpConfigFile(), cwd: base.cwd, fill: (tree, path) => vault.fill(tree, path) }),
    ragCache: createRagCache((key, signal) => library.open(key, signal)),
    rebuildRag: (key, change) => library.rebuild(key, change),
    models: registry,
    tools: {
      build: async ({ tools, mcpRuntime }) =>
        createFunctions([...(tools === 'all' ? ALL : tools).map(tool), ...metaTools(mcpRuntime)]),
      tracker: () => createToolCallTracker(config.reef.tool_loop),
      names: () => ALL,
    },
    team: async ({ spec, parent }): Promise<AgentTeam> => ({
      supervisor: {
        async cancelAll() {
          cancelled.push(spec.name);
        },
        running: () => [],
      },
      inbox: { deliver: () => {}, drain: () => [] },
      escalationQueue: { ask: async () => ({ kind: 'needs_human' }), open: () => [] },
      selfAgentId: `job-of-${spec.name}`,
      currentDepth: parent ? parent.currentDepth + 1 : 0,
    }),
  };
}

const ALL = ['fs_cat', 'fs_ls'];

function tool(name: string): Tool {
  return { name, description: `does ${name}`, parameters: { type: 'object' }, effect: 'read', run: async () => null };
}
