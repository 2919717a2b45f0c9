import type { Clock } from '../../base/clock.ts';
import { createTokenCounter, type TokenCounter } from '../../base/tokens.ts';
import { type AppConfig, DEFAULT_LOADERS, withConfig } from '../config/app-config.ts';
import { type ConfigRequest, loadConfig } from '../config/load.ts';
import { secretsIn } from '../config/placeholders.ts';
import type { ConfigWarning } from '../config/settings-file.ts';
import type { Paths, Variables } from '../paths.ts';
import { SessionStore } from '../sessions/store.ts';
import { noFunctions } from '../tools/tool.ts';
import { passwordFrom } from '../vault/password.ts';
import { Vault } from '../vault/vault.ts';
import { type AppState, createAppState, type Ports } from './app-state.ts';
import type { Overrides, UserPort, WorkingMode } from './context-data.ts';
import { RequestContext } from './request-context.ts';
import { ensureDefaultModelId } from './transition.ts';

/** What the ports are made from. */
export interface PortBase {
  config: AppConfig;
  vault: Vault;
  paths: Paths;
  environment: Variables;
  clock: Clock;
  cwd: string;
}

export interface InitOptions {
  env: Variables;
  home: string;
  cwd: string;
  version: string;
  clock: Clock;
  /** Without it tokens are estimated: to load the exact vocabulary costs 2 MB at start. */
  tokens?: TokenCounter;
  /** Asks for the password of the vault. */
  askPassword?: (question: string) => Promise<string>;
  /** Receives every secret that is used, for redaction. */
  onSecret?: (value: string) => void;
  /** Receives each warning once. */
  onWarning?: (warning: ConfigWarning) => void;
  ports(base: PortBase): Ports;
}

/** Reads the configuration, then makes the services, in the order of the seed. It starts nothing. */
export function initAppState(options: InitOptions): AppState {
  const { env, home, cwd, version, clock } = options;
  const request: ConfigRequest = { env, home, cwd };
  const loaded = loadConfig(request);
  const complete = (read: AppConfig) => withVersionAndLoaders(read, version);
  const config = complete(loaded.config);
  const { paths, environment } = loaded;
  const warn = onceEach(options.onWarning ?? (() => {}));
  for (const warning of loaded.warnings) warn(warning);

  const vault = new Vault({
    path: paths.vaultFile(),
    password: passwordFrom({
      file: config.vault_password_file,
      home,
      configDir: paths.configDir(),
      ask: options.askPassword,
    }),
    ...(options.onSecret && { onReveal: options.onSecret }),
  });
  for (const secret of secretsIn(config.clients)) options.onSecret?.(secret);
  const ports = options.ports({ config, vault, paths, environment, clock, cwd });
  const warnOfSession = (message: string) => warn({ file: paths.sessionsDir(), line: undefined, message });
  return createAppState(
    {
      ...ports,
      vault,
      sessions: new SessionStore({ dir: paths.sessionsDir(), clock, warn: warnOfSession }),
      paths,
      clock,
      tokens: options.tokens ?? createTokenCounter(),
      environment,
      cwd,
      version,
      warn,
      readConfig: () => complete(loadConfig(request).config),
      close: () => ports.mcpFactory.close(),
    },
    config,
  );
}

export interface ContextOptions {
  workingMode: WorkingMode;
  overrides?: Overrides;
  ui?: UserPort;
}

/** A new context over a shared state. It has no tools before `bootstrapTools`. */
export function createContext(app: AppState, { workingMode, overrides = {}, ui }: ContextOptions): RequestContext {
  const id = overrides.model ?? (app.config.model_id || ensureDefaultModelId(app.models));
  return new RequestContext({
    app,
    workingMode,
    model: app.models.find(id, 'chat'),
    overrides: { ...overrides },
    ui,
    toolScope: {
      functions: noFunctions,
      mcpRuntime: { servers: new Map(), unavailable: new Map() },
      toolTracker: app.tools.tracker(),
    },
  });
}

/** Fills in `user_agent: auto` and the default document loaders. */
function withVersionAndLoaders(config: AppConfig, version: string): AppConfig {
  return withConfig(config, {
    document_loaders: { ...DEFAULT_LOADERS, ...config.document_loaders },
    user_agent: config.user_agent === 'auto' ? `reef/${version}` : config.user_agent,
  });
}

function onceEach(tell: (warning: ConfigWarning) => void): (warning: ConfigWarning) => void {
  const told = new Set<string>();
  return (warning) => {
    const key = JSON.stringify(warning);
    if (!told.has(key)) tell(warning);
    told.add(key);
  };
}
