import { stringify } from 'yaml';
import { exportRole } from '../roles/role.ts';
import { sessionText } from '../sessions/state-file.ts';
import { activeRag, activeRole, type ContextData, notActive } from './context-data.ts';
import { settingsOf } from './resolve.ts';
import { sessionsDir } from './session-life.ts';
import { extractRole, usedTokens } from './turns.ts';

/** `.info` and `--info`: the settings in effect, then where files lie. */
export function sysinfo(ctx: ContextData): string {
  const { paths, config } = ctx.app;
  const settings = settingsOf(ctx);
  const entries: [key: string, value: unknown][] = [
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
  const width = Math.max(...entries.map(([key]) => key.length)) + 2;
  const shown = (value: unknown) => (value === undefined || value === '' ? 'null' : String(value));
  return entries.map(([key, value]) => `${key.padEnd(width)}${shown(value)}`).join('\n');
}

/** What is active: agent, session or role; without any of them, the settings. */
export function info(ctx: ContextData): string {
  if (ctx.agent) return agentInfo(ctx) + (ctx.session ? `\n${sessionInfo(ctx)}` : '');
  if (ctx.session) return sessionInfo(ctx);
  if (ctx.role) return roleInfo(ctx);
  return sysinfo(ctx);
}

export function roleInfo(ctx: ContextData): string {
  const role = activeRole(ctx);
  if (!role) throw notActive('role');
  return exportRole({ ...extractRole(ctx), name: role.name, prompt: role.prompt });
}

export function sessionInfo(ctx: ContextData): string {
  const { session } = ctx;
  if (!session) throw notActive('session');
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
  if (!agent) throw notActive('agent');
  const { spec, variables, instructions, ...settings } = agent;
  return stringify({ ...spec, ...settings, variables, instructions }, { lineWidth: 0 });
}

/** A chat shows it when an agent is entered. */
export function agentBanner(ctx: ContextData): string {
  const { agent } = ctx;
  if (!agent) throw notActive('agent');
  const { spec } = agent;
  const starters = spec.conversation_starters.map((starter, index) => `  ${index + 1}. ${starter}`);
  return [
    `# ${agent.name}${spec.version === '' ? '' : ` ${spec.version}`}`,
    ...(spec.description === '' ? [] : [spec.description]),
    ...(starters.length === 0 ? [] : ['', 'Conversation starters (.starter N):', ...starters]),
  ].join('\n');
}

export function ragInfo(ctx: ContextData): string {
  const rag = activeRag(ctx);
  if (!rag) throw notActive('rag');
  return stringify(rag.info(), { lineWidth: 0 });
}
