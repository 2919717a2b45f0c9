import { ReefError } from '../../protocol/errors.ts';
import type { AppConfig } from '../config/app-config.ts';
import { activeRag, type ContextData } from './context-data.ts';
import { layersOf, type SettingKey, writeLayer } from './resolve.ts';
import type { SetValue } from './setting-keys.ts';
import type { Plan } from './transition.ts';

/** These settings decide which servers and tools there are, so setting one is a transition. */
const SCOPE_KEYS: ReadonlySet<SettingKey> = new Set([
  'enabled_tools',
  'enabled_mcp_servers',
  'function_calling_support',
  'mcp_server_support',
  'model',
  'dry_run',
]);

export const changesScope = (key: SettingKey) => SCOPE_KEYS.has(key);

/** What a global key is when it is unset and may not be null. */
const PRESETS: Partial<Record<SettingKey, SetValue>> = { compression_threshold: 4000, rag_top_k: 5 };

/** Writes to the active layer that is read first. Only memory changes: files change by `.save` and `.edit`. */
export function planSetting(ctx: ContextData, key: SettingKey, value: SetValue): Plan {
  switch (writeLayer(layersOf(ctx), key)) {
    case 'agent':
      return planAgentSetting(ctx, key, value);
    case 'session':
      return planSessionSetting(ctx, key, value);
    case 'role':
      return planRoleSetting(ctx, key, value);
    case 'rag':
      return planRagSetting(ctx, key, value);
    case 'global':
      return planGlobalSetting(ctx, key, value);
  }
}

/** An agent always has both lists: an unset one is empty. */
function planAgentSetting({ agent }: ContextData, key: SettingKey, value: SetValue): Plan {
  const isList = key === 'enabled_tools' || key === 'enabled_mcp_servers';
  return agent ? { next: { agent: { ...agent, [key]: isList ? (value ?? '') : value } } } : { next: {} };
}

/** The session itself changes, and last: a compression may be working on it at the same time. */
function planSessionSetting({ session }: ContextData, key: SettingKey, value: SetValue): Plan {
  if (!session) return { next: {} };
  const write = (target: typeof session) => {
    if (key === 'max_output_tokens') target.max_output_tokens = value as number | null;
    else target.set({ [key]: value });
  };
  const preview = session.copy();
  write(preview);
  return { next: {}, preview: { session: preview }, commit: async () => write(session) };
}

function planRoleSetting({ role, session }: ContextData, key: SettingKey, value: SetValue): Plan {
  if (!session?.role) return role ? { next: { role: { ...role, [key]: value } } } : { next: {} };
  const changed = { ...session.role, [key]: value };
  const preview = session.copy();
  preview.role = changed;
  return {
    next: {},
    preview: { session: preview },
    async commit() {
      session.role = changed;
    },
  };
}

function planRagSetting(ctx: ContextData, key: SettingKey, value: SetValue): Plan {
  const settings = activeRag(ctx)?.settings;
  return {
    next: {},
    async commit() {
      if (!settings) return;
      if (key === 'rag_top_k') settings.top_k = value as number | null;
      else settings.reranker_model = value as string | null;
    },
  };
}

/** Only this context sees the change. Behind a server that would be misleading, so it is refused there. */
function planGlobalSetting(ctx: ContextData, key: SettingKey, value: SetValue): Plan {
  if (ctx.workingMode === 'api') {
    throw new ReefError('config_reload_required', `${key} belongs to the whole server: change config.yaml and reload`);
  }
  if (key === 'max_output_tokens') return { next: { globalMaxOutputTokens: value as number | null } };
  const field = key === 'model' ? 'model_id' : key;
  const patch = { [field]: value ?? PRESETS[key] ?? (key === 'model' ? '' : null) } as Partial<AppConfig>;
  const overrides = { ...ctx.overrides };
  // A flag of this request would cover what was just set by hand.
  if (key === 'dry_run' || key === 'stream' || key === 'model') delete overrides[key];
  return { next: { app: ctx.app.withConfig(patch), overrides } };
}
