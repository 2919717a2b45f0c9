import { existsSync } from 'node:fs';
import { listAgents } from '../agent-spec/load.ts';
import type { ModelData } from '../models/client.ts';
import { listMacros, listRags } from '../paths.ts';
import { listRoles } from '../roles/role-folder.ts';
import type { ContextData } from './context-data.ts';
import { settingsOf } from './resolve.ts';
import { sessionStore } from './session-life.ts';
import { isSetKey, SET_KEYS, type SetKey } from './setting-keys.ts';

export type Completion = readonly [value: string, description?: string];

const plain = (values: readonly string[]): Completion[] => values.map((value) => [value]);
const SWITCH = plain(['true', 'false']);

interface Line {
  command: string;
  args: readonly string[];
}

/** Completions of the last word after a dot-command. */
export async function replComplete(ctx: ContextData, { command, args }: Line): Promise<Completion[]> {
  const typed = args.at(-1) ?? '';
  const found = args.length <= 1 ? await first(ctx, command) : await second(ctx, { command, args });
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

async function second(ctx: ContextData, { command, args }: Line): Promise<Completion[]> {
  const [subject = ''] = args;
  if (command === '.set' && isSetKey(subject)) return settingValues(ctx, subject, args.at(-1) ?? '');
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

async function settingValues(ctx: ContextData, key: SetKey, typed: string): Promise<Completion[]> {
  const { config, tools, models } = ctx.app;
  switch (key) {
    case 'enabled_tools':
      return listValues([...tools.names(), ...Object.keys(config.mapping_tools), 'all'], typed);
    case 'enabled_mcp_servers': {
      const servers = [...(await ctx.app.readServers()).keys()];
      return listValues([...servers, ...Object.keys(config.mapping_mcp_servers), 'all'], typed);
    }
    case 'rag_reranker_model':
      return [...models.list('reranker').map(({ id }): Completion => [id]), ['null']];
    case 'save_session':
      return [...SWITCH, ['null']];
    default:
      return SET_KEYS[key] === 'switch' ? SWITCH : [[String(settingsOf(ctx)[key] ?? 'null'), 'as it is']];
  }
}

/** Completes the last name of a comma list. */
function listValues(names: readonly string[], typed: string): Completion[] {
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  const used = new Set(before.split(','));
  return plain([
    ...names.filter((name) => !used.has(name)).map((name) => before + name),
    ...(before === '' ? ['null'] : []),
  ]);
}

function describeModel({ max_input_tokens, supports_function_calling }: ModelData): string {
  const size = max_input_tokens === undefined ? '' : `${Math.round(max_input_tokens / 1000)}k`;
  return [size, supports_function_calling ? 'tools' : ''].filter((part) => part !== '').join(' ');
}

/** The typed letters occur in order, with anything between: `gpt4` finds `openai:gpt-4o`. */
function isLike(value: string, typed: string): boolean {
  let at = 0;
  for (const letter of typed.toLowerCase()) {
    at = value.toLowerCase().indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}
