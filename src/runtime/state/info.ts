import { stringify } from 'yaml';
import { ReefError } from '../../protocol/errors.ts';
import type { AppConfig } from '../config/app-config.ts';
import { exportRole } from '../roles/role.ts';
import { sessionText } from '../sessions/state-file.ts';
import type { ContextData } from './context-data.ts';
import { sessionsDir } from './session-life.ts';
import { extractRole, settingsOf, usedTokens } from './turns.ts';

export type InfoEntry = readonly [key: string, value: string];

const shown = (value: unknown): string =>
  value === null || value === undefined || value === '' ? 'null' : String(value);

/** `.info` and `--info`: what is in effect, then where things lie. */
export function sysinfo(config: AppConfig, ctx: ContextData): InfoEntry[] {
  const { paths } = ctx.app;
  const settings = settingsOf(config, ctx);
  const effective: [string, unknown][] = [
    ['model', ctx.model.id],
    ['temperature', settings.temperature],
    ['top_p', settings.top_p],
    ['enabled_tools', settings.enabled_tools],
    ['enabled_mcp_servers', settings.enabled_mcp_servers],
    ['max_output_tokens', settings.max_output_tokens ?? ctx.model.data.max_output_tokens],
    ['save_session', settings.save_session],
    ['compression_threshold', settings.compression_threshold],
    ['rag_reranker_model', settings.rag_reranker_model],
    ['rag_top_k', settings.rag_top_k],
    ['dry_run', settings.dry_run],
    ['function_calling_support', settings.function_calling_support],
    ['mcp_server_support', settings.mcp_server_support],
    ['stream', settings.stream],
    ['save', settings.save],
    ['keybindings', config.keybindings],
    ['wrap', config.wrap ?? 'no'],
    ['wrap_code', config.wrap_code],
    ['highlight', settings.highlight],
    ['theme', config.theme],
  ];
  const places: [string, string][] = [
    ['config_file', paths.configFile()],
    ['env_file', paths.envFile()],
    ['agents_dir', paths.agentsDataDir()],
    ['roles_dir', paths.rolesDir()],
    ['sessions_dir', sessionsDir(ctx)],
    ['rags_dir', paths.ragsDir()],
    ['macros_dir', paths.macrosDir()],
    ['functions_dir', paths.functionsDir()],
    ['messages_file', paths.messagesFile(ctx.agent?.name)],
    ['vault_file', paths.vaultFile()],
    ['log_file', paths.logPath()],
  ];
  return [...effective, ...places].map(([key, value]) => [key, shown(value)]);
}

export function renderInfo(entries: readonly InfoEntry[]): string {
  const width = Math.max(...entries.map(([key]) => key.length)) + 2;
  return entries.map(([key, value]) => `${key.padEnd(width)}${value}`).join('\n');
}

/** Of the highest layer that is active; of the whole where none is. */
export function info(config: AppConfig, ctx: ContextData): string {
  if (ctx.agent) return agentInfo(ctx) + (ctx.session ? `\n${sessionInfo(ctx)}` : '');
  if (ctx.session) return sessionInfo(ctx);
  if (ctx.role) return roleInfo(config, ctx);
  return renderInfo(sysinfo(config, ctx));
}

export function roleInfo(config: AppConfig, ctx: ContextData): string {
  const role = ctx.session?.role ?? ctx.role;
  if (!role) throw new ReefError('invalid_state', 'no role is active: `.role NAME` enters one');
  return exportRole({ ...extractRole(config, ctx), name: role.name, prompt: role.prompt });
}

export function sessionInfo(ctx: ContextData): string {
  const { session } = ctx;
  if (!session) throw new ReefError('invalid_state', 'no session is active: `.session [NAME]` enters one');
  const head = {
    name: session.name,
    user_messages: session.userMessages,
    compressed_messages: session.state.compressed_messages.length,
    tokens: usedTokens(ctx),
    unsaved: session.isDirty,
  };
  return `${stringify(head)}${sessionText(session.state)}`;
}

export function agentInfo(ctx: ContextData): string {
  const { agent } = ctx;
  if (!agent) throw new ReefError('invalid_state', 'no agent is active: `.agent NAME` enters one');
  const { spec, variables, instructions, ...settings } = agent;
  return stringify({ ...spec, ...settings, variables, instructions }, { lineWidth: 0 });
}

/** What a chat shows when an agent is entered. */
export function agentBanner(ctx: ContextData): string {
  const { agent } = ctx;
  if (!agent) throw new ReefError('invalid_state', 'no agent is active: `.agent NAME` enters one');
  const { spec } = agent;
  const starters = spec.conversation_starters.map((starter, index) => `  ${index + 1}. ${starter}`);
  return [
    `# ${agent.name}${spec.version === '' ? '' : ` ${spec.version}`}`,
    ...(spec.description === '' ? [] : [spec.description]),
    ...(starters.length === 0 ? [] : ['', 'Conversation starters (.starter N):', ...starters]),
  ].join('\n');
}

export function ragInfo(ctx: ContextData): string {
  const rag = (ctx.agentRuntime?.rag ?? ctx.rag)?.value;
  if (!rag) throw new ReefError('invalid_state', 'no RAG is active: `.rag NAME` enters one');
  return stringify(rag.info(), { lineWidth: 0 });
}
