import { ReefError } from '../../protocol/errors.ts';
import { activeRag, activeRole, type ContextData } from './context-data.ts';

/** Every setting that more than one layer can define. */
export interface Settings {
  model: string;
  temperature: number | null;
  top_p: number | null;
  max_output_tokens: number | null;
  enabled_tools: string | null;
  enabled_mcp_servers: string | null;
  prompt: string | null;
  save_session: boolean | null;
  compression_threshold: number;
  rag_top_k: number;
  rag_reranker_model: string | null;
  dry_run: boolean;
  stream: boolean;
  save: boolean;
  highlight: boolean;
  function_calling_support: boolean;
  mcp_server_support: boolean;
}
export type SettingKey = keyof Settings;

export type LayerName = 'flag' | 'agent' | 'session' | 'role' | 'rag' | 'global';
/** Null and undefined leave a setting to the next layer. */
type Layer = { readonly [K in SettingKey]?: Settings[K] | null | undefined };
/** A layer that is not active is absent. */
type Layers = { readonly [L in Exclude<LayerName, 'global'>]?: Layer | undefined } & { readonly global: Layer };

const TOOLS = ['agent', 'session', 'role', 'global'] as const;
const MODEL = ['flag', 'session', 'agent', 'role', 'global'] as const;
const SWITCH = ['flag', 'global'] as const;

/**
 * The one priority table: the first layer that defines a setting wins. An agent's tools are a promise about what it
 * may touch, so nothing is above them; a session's settings are the user's latest wish, so the agent is below them.
 */
const TABLE = {
  enabled_tools: TOOLS,
  enabled_mcp_servers: TOOLS,
  model: MODEL,
  temperature: MODEL,
  top_p: MODEL,
  max_output_tokens: MODEL,
  prompt: ['agent', 'role'],
  save_session: ['flag', 'session', 'global'],
  compression_threshold: ['session', 'agent', 'global'],
  rag_top_k: ['rag', 'global'],
  rag_reranker_model: ['rag', 'global'],
  dry_run: SWITCH,
  stream: SWITCH,
  save: SWITCH,
  highlight: SWITCH,
  function_calling_support: SWITCH,
  mcp_server_support: SWITCH,
} as const satisfies Record<SettingKey, readonly LayerName[]>;

const KEYS = Object.keys(TABLE) as SettingKey[];

/** What each active layer of a context defines. */
export function layersOf(ctx: ContextData): Layers {
  const { session, agent, overrides } = ctx;
  const { config } = ctx.app;
  const rag = activeRag(ctx)?.settings;
  return {
    flag: { ...overrides, ...(session?.saveThisTime !== undefined && { save_session: session.saveThisTime }) },
    session: session && { ...session.state, max_output_tokens: session.max_output_tokens },
    agent: agent && { ...agent, prompt: agent.instructions },
    role: activeRole(ctx),
    rag: rag && { rag_top_k: rag.top_k, rag_reranker_model: rag.reranker_model },
    global: { ...config, model: config.model_id, max_output_tokens: ctx.globalMaxOutputTokens },
  };
}

/** The settings in effect. */
export const settingsOf = (ctx: ContextData): Settings => resolve(layersOf(ctx));

/** For what cannot be done without starting a program or asking a model. */
export function refuseDry(ctx: ContextData): void {
  if (settingsOf(ctx).dry_run)
    throw new ReefError(
      'invalid_state',
      'a dry run starts nothing: leave out --dry-run, or `.set dry_run false` first',
    );
}

export function resolve(layers: Layers): Settings {
  const found = Object.fromEntries(KEYS.map((key) => [key, resolveKey(layers, key)])) as unknown as Settings;
  if (!found.function_calling_support) return { ...found, enabled_tools: '', enabled_mcp_servers: '' };
  if (!found.mcp_server_support) return { ...found, enabled_mcp_servers: '' };
  return found;
}

function resolveKey(layers: Layers, key: SettingKey): Settings[SettingKey] | null {
  for (const name of TABLE[key]) {
    const value = layers[name]?.[key];
    if (value !== undefined && value !== null) return value;
  }
  return null;
}

/** An agent's threshold belongs to its author; `.set` changes the conversation's. */
const WRITES: { readonly [K in SettingKey]?: readonly LayerName[] } = { compression_threshold: ['session', 'global'] };

/** Where `.set` writes: the active layer that is read first. A flag holds for one request and is not written. */
export function writeLayer(layers: Layers, key: SettingKey): Exclude<LayerName, 'flag'> {
  for (const name of WRITES[key] ?? TABLE[key]) {
    if (name !== 'flag' && layers[name] !== undefined) return name;
  }
  return 'global';
}
