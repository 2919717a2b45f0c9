import type { Clock } from '../../base/clock.ts';
import type { Lease } from '../../base/lease.ts';
import type { TokenCounter } from '../../base/tokens.ts';
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

/** What a scope's tools are made from: names resolved by the table of §3, servers already running. */
export interface FunctionsRequest {
  /** Names of tools, aliases expanded; `all` is everything visible. */
  tools: 'all' | readonly string[];
  /** The context as it will be: its toolScope is still the old one, its servers are `mcpRuntime`. */
  context: ContextData;
  mcpRuntime: ContextData['toolScope']['mcpRuntime'];
}

/** What the state half needs of the others; app.ts passes the instances in. */
export interface Ports {
  mcpFactory: McpFactory;
  /** mcp.json as it is now, with secrets filled in. */
  readServers(): Promise<ReadonlyMap<string, McpServerSpec>>;
  ragCache: RagCache;
  /** Makes a definition's index anew; the cache is told by the caller. */
  rebuildRag(
    key: RagKey,
    change: { documents?: readonly string[]; signal?: AbortSignal | undefined },
  ): Promise<unknown>;
  models: ModelRegistry;
  tools: {
    build(request: FunctionsRequest): Promise<Functions>;
    tracker(): ToolCallTracker;
    /** Every tool there is, for completion. */
    names(): readonly string[];
  };
  /** What the tool `_instructions` of an agent says. */
  dynamicInstructions?: (spec: AgentSpec, variables: Readonly<Record<string, string>>) => Promise<string>;
  /** Children, inbox and escalation of an agent; absent where no agent can run. */
  team?: (request: TeamRequest) => Promise<AgentTeam>;
}

export interface TeamRequest {
  spec: AgentSpec;
  /** The agent that starts it; absent for the one a person talks to. */
  parent?: AgentRuntime | undefined;
}

/** Shared by all contexts of a process; holds no running server. */
export interface AppState {
  readonly config: AppConfig;
  readonly vault: Vault;
  readonly mcpFactory: McpFactory;
  readonly ragCache: RagCache;
  readonly models: ModelRegistry;
  readonly sessions: SessionStore;
  readonly paths: Paths;
  readonly ports: Ports;
  readonly clock: Clock;
  readonly tokens: TokenCounter;
  /** The process's own variables and those of `.env`. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly version: string;
  warn(warning: ConfigWarning): void;
  /** The same services with another frozen config; nobody else sees it. */
  withConfig(patch: Partial<AppConfig>): AppState;
  /** The files as they are now. They are checked first: a wrong one throws and this state stays as it is. */
  reload(): AppState;
  close(): Promise<void>;
}

export type WorkingMode = 'cmd' | 'repl' | 'api' | 'job';

/** The last exchange, for `.continue`, `.regenerate`, `.copy` and a session that begins with it. */
export interface LastMessage {
  /** User message first, then tools and answer, as they went into the history. */
  messages: readonly Message[];
  output: string;
  /** False once the conversation went on elsewhere: it may no longer begin a session. */
  continuous: boolean;
}

/** A person at a terminal; absent where there is none. */
export interface UserPort {
  confirm(question: string, preset: boolean): Promise<boolean>;
  input(question: string): Promise<string>;
}

/** This request only. */
export interface Overrides {
  dry_run?: boolean | undefined;
  stream?: boolean | undefined;
  model?: string | undefined;
  save_session?: boolean | undefined;
}

/** What an agent covers; given back when it leaves. */
export interface Suspended {
  role?: Role | undefined;
  session?: Session | undefined;
  rag?: Lease<Rag> | undefined;
}

/** A request's whole state: what `RequestContext` holds, and what the functions beside it work on. */
export interface ContextData {
  app: AppState;
  macroFlag: boolean;
  infoFlag: boolean;
  workingMode: WorkingMode;
  model: Model;
  agentVariables?: Readonly<Record<string, string>> | undefined;
  role?: Role | undefined;
  session?: Session | undefined;
  rag?: Lease<Rag> | undefined;
  agent?: Agent | undefined;
  lastMessage?: LastMessage | undefined;
  toolScope: ToolScope;
  agentRuntime?: AgentRuntime | undefined;
  overrides: Overrides;
  suspended?: Suspended | undefined;
  /** `.set max_output_tokens` without a role, session or agent: the 40 fields have no place for it. */
  globalMaxOutputTokens: number | null;
  ui?: UserPort | undefined;
}
