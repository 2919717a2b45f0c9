import { existsSync } from 'node:fs';
import { listAgents } from '../agent-spec/load.ts';
import type { AppConfig } from '../config/app-config.ts';
import { listMacros, listRags } from '../paths.ts';
import { listRoles } from '../roles/role-folder.ts';
import type { ContextData } from './context-data.ts';
import { sessionStore } from './session-life.ts';
import { isSetKey, SET_KEYS, type SetKey } from './setting-keys.ts';
import { settingsOf } from './turns.ts';

export type Completion = readonly [value: string, description?: string];

const plain = (values: readonly string[]): Completion[] => values.map((value) => [value]);
const SWITCH = plain(['true', 'false']);

/** What may stand as the last of `args` after a dot-command; the caller's key press decides what of it is shown. */
export async function replComplete(
  config: AppConfig,
  ctx: ContextData,
  { command, args }: { command: string; args: readonly string[] },
): Promise<Completion[]> {
  const typed = args.at(-1) ?? '';
  const found = args.length <= 1 ? await first(ctx, command) : await second(config, ctx, { command, args });
  return found.filter(([value]) => isLike(value, typed));
}

async function first(ctx: ContextData, command: string): Promise<Completion[]> {
  const { paths, models } = ctx.app;
  switch (command) {
    case '.role':
      return plain(listRoles(paths));
    case '.model':
      return models.list('chat').map(({ id, data }) => [id, describeModel(data)]);
    case '.session':
      return plain(await sessionNames(ctx));
    case '.rag':
      return plain(listRags(paths));
    case '.agent':
      return plain(listAgents(paths));
    case '.macro':
      return plain(listMacros(paths));
    case '.set':
      return plain(Object.keys(SET_KEYS));
    case '.starter':
      return (ctx.agent?.spec.conversation_starters ?? []).map((text, index) => [String(index + 1), text]);
    case '.delete':
      return plain(['role', 'session', 'rag', 'macro', 'agent-data']);
    case '.vault':
      return plain(['add', 'get', 'update', 'delete', 'list']);
    default:
      return [];
  }
}

interface Line {
  command: string;
  args: readonly string[];
}

async function second(config: AppConfig, ctx: ContextData, { command, args }: Line): Promise<Completion[]> {
  const [subject = ''] = args;
  if (command === '.set' && isSetKey(subject))
    return settingValues(config, ctx, { key: subject, typed: args.at(-1) ?? '' });
  if (command === '.agent') return args.length === 2 ? plain(await agentSessions(ctx, subject)) : [];
  if (command === '.vault' && subject !== 'add' && subject !== 'list') return plain(await ctx.app.vault.list());
  if (command === '.delete') return deletable(ctx, subject);
  return [];
}

async function deletable(ctx: ContextData, kind: string): Promise<Completion[]> {
  const { paths } = ctx.app;
  if (kind === 'role') return plain(listRoles(paths, false));
  if (kind === 'session') return plain(await sessionNames(ctx));
  if (kind === 'rag') return plain(listRags(paths));
  if (kind === 'macro') return plain(listMacros(paths));
  return kind === 'agent-data' ? plain(listAgents(paths)) : [];
}

async function sessionNames(ctx: ContextData): Promise<string[]> {
  const store = sessionStore(ctx);
  return [...(await store.names()), ...(await store.autonames()).map((name) => `_/${name}`)];
}

async function agentSessions({ app }: ContextData, agent: string): Promise<string[]> {
  if (!existsSync(app.paths.agentDataDir(agent))) return [];
  return app.sessions.at(app.paths.agentSessionsDir(agent)).names();
}

interface Setting {
  key: SetKey;
  typed: string;
}

async function settingValues(config: AppConfig, ctx: ContextData, { key, typed }: Setting): Promise<Completion[]> {
  const { ports, models } = ctx.app;
  switch (key) {
    case 'enabled_tools':
      return listValues([...ports.tools.names(), ...Object.keys(config.mapping_tools), 'all'], typed);
    case 'enabled_mcp_servers': {
      const servers = [...(await ports.readServers()).keys()];
      return listValues([...servers, ...Object.keys(config.mapping_mcp_servers), 'all'], typed);
    }
    case 'rag_reranker_model':
      return [...models.list('reranker').map(({ id }): Completion => [id]), ['null']];
    case 'save_session':
      return [...SWITCH, ['null']];
    default:
      return SET_KEYS[key] === 'switch' ? SWITCH : [[String(settingsOf(config, ctx)[key] ?? 'null'), 'as it is']];
  }
}

/** The last name of a comma list; those before it stay. */
function listValues(names: readonly string[], typed: string): Completion[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const used = new Set(before.split(','));
  return plain([
    ...names.filter((name) => !used.has(name)).map((name) => before + name),
    ...(before === '' ? ['null'] : []),
  ]);
}

function describeModel({
  max_input_tokens,
  supports_function_calling,
}: {
  max_input_tokens?: number;
  supports_function_calling?: boolean;
}): string {
  const size = max_input_tokens === undefined ? '' : `${Math.round(max_input_tokens / 1000)}k`;
  return [size, supports_function_calling ? 'tools' : ''].filter((part) => part !== '').join(' ');
}

/** All that was typed, in order, with anything between: `gpt4` finds `openai:gpt-4o`. */
function isLike(value: string, typed: string): boolean {
  let at = 0;
  for (const letter of typed.toLowerCase()) {
    at = value.toLowerCase().indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
