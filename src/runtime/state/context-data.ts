import type { Clock } from '../../base/clock.ts';
import type { Lease } from '../../base/lease.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Agent, AgentSpec } from '../agent-spec/spec.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { ConfigWarning } from '../config/settings-file.ts';
import type { McpFactory, McpServerSpec } from '../mcp/factory.ts';
import type { Model, ModelRegistry } from '../models/client.ts';
import type { Message } from '../models/message.ts';
import type { Paths } from '../paths.ts';
import type { Rag, RagCache, RagKey } from '../rag/rag.ts';
import type { Role } from '../roles/role.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionStore } from '../sessions/store.ts';
import type { Functions, ToolCallTracker } from '../tools/tool.ts';
import type { Vault } from '../vault/vault.ts';
import type { AgentRuntime, AgentTeam, ToolScope } from './scope.ts';

/** What the tools of a scope are made from. Its servers are running already. */
export interface FunctionsRequest {
  /** Names of tools, with aliases expanded; `all` is everything visible. */
  tools: 'all' | readonly string[];
  /** The context as it will be, but still with its old tool scope. */
  context: ContextData;
  mcpRuntime: ContextData['toolScope']['mcpRuntime'];
}

/** The other parts of the runtime, made by the composition root. */
export interface Ports {
  readonly mcpFactory: McpFactory;
  /** Reads mcp.json and fills in its secrets. */
  readServers(): Promise<ReadonlyMap<string, McpServerSpec>>;
  readonly ragCache: RagCache;
  /** Builds the index of a definition anew. The caller invalidates the cache. */
  rebuildRag(
    key: RagKey,
    change: { documents?: readonly string[]; signal?: AbortSignal | undefined },
  ): Promise<unknown>;
  readonly models: ModelRegistry;
  readonly tools: {
    build(request: FunctionsRequest): Promise<Functions>;
    tracker(): ToolCallTracker;
    /** Names all tools, for completion. */
    names(): readonly string[];
  };
  /** Calls the tool `_instructions` of an agent. */
  dynamicInstructions?: (spec: AgentSpec, variables: Readonly<Record<string, string>>) => Promise<string>;
  /** Makes children, inbox and escalation of an agent; absent where no agent can run. */
  team?: (request: TeamRequest) => Promise<AgentTeam>;
}

export interface TeamRequest {
  spec: AgentSpec;
  /** The agent that starts it; absent if a person does. */
  parent?: AgentRuntime | undefined;
}

/** Shared by all contexts of a process. It holds no running server. */
export interface AppState extends Ports {
  readonly config: AppConfig;
  readonly vault: Vault;
  readonly sessions: SessionStore;
  readonly paths: Paths;
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  /** The process's own variables and those of `.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  warn(warning: ConfigWarning): void;
  /** The same services with a changed config. This state stays as it is. */
  withConfig(patch: Partial<AppConfig>): AppState;
  /** The same services with the config as the files are now. A wrong file throws. */
  reload(): AppState;
  close(): Promise<void>;
}

export type WorkingMode = 'cmd' | 'repl' | 'api' | 'job';

/** The last exchange. `.continue`, `.regenerate`, `.copy` and a new session use it. */
export interface LastMessage {
  /** User message first, then tools and answer, as they went into the history. */
  messages: readonly Message[];
  output: string;
  /** False once the conversation went on elsewhere: it cannot begin a session any more. */
  continuous: boolean;
}

/** A person at a terminal; absent where there is none. */
export interface UserPort {
  confirm(question: string, preset: boolean): Promise<boolean>;
  input(question: string): Promise<string>;
  /** Any number of the options. */
  choose(question: string, options: readonly string[]): Promise<string[]>;
}

/** Flags that hold for this request only. */
export interface Overrides {
  dry_run?: boolean | undefined;
  stream?: boolean | undefined;
  model?: string | undefined;
  save_session?: boolean | undefined;
}

/** What an active agent replaces. It comes back when the agent is left. */
export interface Suspended {
  role?: Role | undefined;
  session?: Session | undefined;
  rag?: Lease<Rag> | undefined;
}

/** All state of a request. `RequestContext` adds what can be done with it. */
export class ContextData {
  app: AppState;
  readonly workingMode: WorkingMode;
  model: Model;
  toolScope: ToolScope;
  overrides: Overrides;
  readonly ui?: UserPort | undefined;
  /** How many macros run around this context; 0 outside a macro. */
  macroDepth = 0;
  role?: Role | undefined;
  session?: Session | undefined;
  rag?: Lease<Rag> | undefined;
  agent?: Agent | undefined;
  lastMessage?: LastMessage | undefined;
  agentRuntime?: AgentRuntime | undefined;
  suspended?: Suspended | undefined;
  /** `.set max_output_tokens` without a role, session or agent. The configuration has no key for it. */
  globalMaxOutputTokens: number | null = null;

  constructor(start: Pick<ContextData, 'app' | 'workingMode' | 'model' | 'toolScope' | 'overrides' | 'ui'>) {
    this.app = start.app;
    this.workingMode = start.workingMode;
    this.model = start.model;
    this.toolScope = start.toolScope;
    this.overrides = start.overrides;
    this.ui = start.ui;
  }
}

/** Whoever asks one question and leaves is not asked back, as in Loki. */
export const canAskBack = ({ workingMode }: ContextData) => workingMode !== 'cmd';

const HOW_TO_ENTER = {
  role: 'no role is active: `.role NAME` enters one',
  session: 'no session is active: `.session [NAME]` enters one',
  agent: 'no agent is active: `.agent NAME` enters one',
  rag: 'no RAG is active: `.rag NAME` enters one',
};

/** The error of a command that needs an active role, session, agent or RAG. */
export function notActive(what: keyof typeof HOW_TO_ENTER): ReefError {
  return new ReefError('invalid_state', HOW_TO_ENTER[what]);
}

/** The RAG that answers: an agent's own wins over the one the user chose. */
export const activeRag = (ctx: ContextData) => (ctx.agentRuntime?.rag ?? ctx.rag)?.value;

/** The role in effect: a session keeps the one it began with. */
export const activeRole = (ctx: ContextData) => ctx.session?.role ?? ctx.role;
