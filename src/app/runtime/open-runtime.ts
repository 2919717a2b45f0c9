import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import { lazily } from '../../base/lazily.ts';
import { createLogger, type Level, type Logger } from '../../base/log.ts';
import { type LogFile, openLogFile } from '../../base/log-file.ts';
import { createRedactor } from '../../base/redact.ts';
import { type Capabilities, probeCapabilities } from '../../process/capabilities.ts';
import type { ConfigWarning } from '../../runtime/config/settings-file.ts';
import { type McpFactory, NO_STATS } from '../../runtime/mcp/factory.ts';
import { readMcpFile } from '../../runtime/mcp/mcp-file.ts';
import { createPaths } from '../../runtime/paths.ts';
import type { RagLibrary } from '../../runtime/rag/library.ts';
import type { RagCache } from '../../runtime/rag/rag.ts';
import type { AppState, Ports } from '../../runtime/state/app-state.ts';
import { initAppState, type PortBase } from '../../runtime/state/init.ts';
import { TeamInbox } from '../../runtime/team/inbox.ts';
import { createRunCommand, type RunCommand } from '../../runtime/tools/command.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import { openModels } from './open-models.ts';
import { createTools } from './tool-box.ts';

export interface RuntimeOptions {
  env: Environment;
  cwd: string;
  clock: Clock;
  version: string;
  /** No next request comes, so no MCP server is kept idle. */
  isOneShot: boolean;
  /** Asks the person at the surface. An agent that works alone asks there too. */
  ask: AskFn;
  askPassword?: ((question: string) => Promise<string>) | undefined;
  onWarning?: ((warning: ConfigWarning) => void) | undefined;
}

export interface Runtime {
  app: AppState;
  /** Starts programs for tools, loaders and `.file`. */
  run: RunCommand;
  /** Where outputs too long for a prompt lie. */
  outputsDir: string;
}

const IDLE_SECONDS = 300;

/** Everything a request needs. Processes, indexes and SDKs start with their first use. */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { env, clock } = options;
  const variables = env.all;
  const paths = createPaths(variables, env.home);
  const log = openRuntimeLog(paths.logPath(), { clock, level: variables.REEF_LOG_LEVEL });
  const capabilities = lazily(() => probeCapabilities());
  const run: RunCommand = async (spec) =>
    createRunCommand({ capabilities: await capabilities.get(), env: variables })(spec);
  const outputsDir = join(paths.cachePath(), 'outputs');
  const parts: Parts = { options, log, run, outputsDir, capabilities: () => capabilities.get() };
  const app = initAppState({
    env: variables,
    home: env.home,
    cwd: options.cwd,
    version: options.version,
    clock,
    ...(options.askPassword && { askPassword: options.askPassword }),
    onSecret: (secret) => log.hide(secret),
    onWarning(warning) {
      log.warn(warning.message, { file: warning.file, line: warning.line });
      options.onWarning?.(warning);
    },
    ports: (base) => createPorts(base, parts),
  });
  return { app, run, outputsDir };
}

interface Parts {
  options: RuntimeOptions;
  log: RuntimeLog;
  run: RunCommand;
  outputsDir: string;
  capabilities(): Promise<Capabilities>;
}

function createPorts(base: PortBase, parts: Parts): Ports {
  const { config, vault, paths, clock, cwd } = base;
  const { options, log } = parts;
  const models = openModels({ ...base, onCall: ({ at: _, ...record }) => log.info('model call', record) });
  const readServers = () =>
    readMcpFile({ path: paths.mcpConfigFile(), cwd, fill: (tree) => vault.fill(tree, 'mcp.json') });
  const idle = config.reef.mcp_pool.idle_timeout_seconds ?? (options.isOneShot ? 0 : IDLE_SECONDS);
  const mcpFactory = lazyMcpFactory(async () => {
    const [{ McpPool }, { McpApprovals }] = await Promise.all([
      import('../../runtime/mcp/pool/pool.ts'),
      import('../../runtime/mcp/approval/approvals.ts'),
    ]);
    const tell = (message: string) => options.onWarning?.({ file: paths.mcpConfigFile(), line: undefined, message });
    return new McpPool({
      capabilities: await parts.capabilities(),
      env: options.env.all,
      version: options.version,
      clock,
      log,
      approvals: new McpApprovals({ folder: paths.mcpApprovalsDir(), clock, tell }),
      pool: { ...config.reef.mcp_pool, idle_timeout_seconds: idle },
      readSpecs: readServers,
    });
  });
  const rag = lazyRag(async () => {
    const { createRagLibrary, ragModels } = await import('../../runtime/rag/library.ts');
    return createRagLibrary({
      fileOf: ({ kind, name }) => (kind === 'named' ? paths.ragFile(name) : paths.agentRagFile(name)),
      config,
      models: ragModels(models),
      fetch: globalThis.fetch,
      cwd,
      home: options.env.home,
      reveal: (words) => vault.fill(words, 'document_loaders'),
      run: parts.run,
      warn: (message) => options.onWarning?.({ file: paths.ragsDir(), line: undefined, message }),
    });
  });
  const { dynamicInstructions, ...tools } = createTools(base, parts);
  return {
    mcpFactory,
    readServers,
    ragCache: rag.cache,
    rebuildRag: rag.rebuild,
    models,
    tools,
    dynamicInstructions,
    team: soloTeam(options.ask),
  };
}

/** The pool of MCP servers, loaded with the first server: most requests use none. */
function lazyMcpFactory(open: () => Promise<McpFactory>): McpFactory {
  let opened: McpFactory | undefined;
  const factory = lazily(async () => {
    opened = await open();
    return opened;
  });
  return {
    acquire: async (spec, options) => (await factory.get()).acquire(spec, options),
    stats: () => opened?.stats() ?? NO_STATS,
    reload: async (name) => (await factory.made())?.reload(name),
    close: async () => (await factory.made())?.close(),
  };
}

/** Index and loaders, loaded with the first RAG. */
function lazyRag(openLibrary: () => Promise<RagLibrary>): { cache: RagCache; rebuild: RagLibrary['rebuild'] } {
  const parts = lazily(async () => {
    const [{ createRagCache }, library] = await Promise.all([import('../../runtime/rag/cache.ts'), openLibrary()]);
    return { library, cache: createRagCache((...request) => library.open(...request)) };
  });
  return {
    cache: {
      load: async (...request) => (await parts.get()).cache.load(...request),
      invalidate: (key) => void parts.made()?.then(({ cache }) => cache.invalidate(key)),
    },
    rebuild: async (key, change) => (await parts.get()).library.rebuild(key, change),
  };
}

/** For an agent that works alone: it asks the person at the surface and has no children. */
function soloTeam(ask: AskFn): Required<Ports>['team'] {
  return async () => ({
    supervisor: { cancelAll: async () => {}, running: () => [] },
    inbox: new TeamInbox(),
    escalationQueue: { ask, open: () => [] },
    selfAgentId: randomUUID(),
    currentDepth: 0,
  });
}

const LEVELS: readonly string[] = ['debug', 'info', 'warn', 'error'] satisfies Level[];

interface RuntimeLog extends Logger {
  /** Redacts this value from now on. */
  hide(secret: string): void;
}

/** `reef.log`, opened by its first line. A folder that is not writable stops no request. */
function openRuntimeLog(path: string, options: { clock: Clock; level: string | undefined }): RuntimeLog {
  const secrets: string[] = [];
  let redact = createRedactor(secrets);
  let file: LogFile | undefined;
  const write = (line: string) => {
    try {
      if (!file) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      file ??= openLogFile(path);
      file.write(line);
    } catch {
      // Only the log could tell of it.
    }
  };
  const level = LEVELS.includes(options.level ?? '') ? (options.level as Level) : 'info';
  const logger = createLogger({ write, clock: options.clock, redact: (text) => redact(text), level });
  return {
    ...logger,
    hide(secret) {
      secrets.push(secret);
      redact = createRedactor(secrets);
    },
  };
}
