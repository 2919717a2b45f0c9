import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { ReefError } from '../../../protocol/errors.ts';
import { listAgents } from '../../../runtime/agent-spec/load.ts';
import { listMacros, listRags } from '../../../runtime/paths.ts';
import { listRoles } from '../../../runtime/roles/role-folder.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { type CommandDeps, type DotCommand, required, words } from './command.ts';

export const storeCommands: readonly DotCommand[] = [
  {
    name: '.delete',
    usage: 'role|session|rag|macro|agent-data [NAME]',
    does: 'Delete a role, session, RAG, macro or the data of an agent; without a name, choose which',
    run: remove,
  },
  { name: '.vault', usage: 'add|get|update|delete|list [NAME]', does: 'Manage secrets', run: vault },
];

/** What there is to choose from. Roles and agents that come with Reef have no file to delete. */
const STORED: Record<string, (ctx: RequestContext) => readonly string[] | Promise<readonly string[]>> = {
  role: ({ app }) => listRoles(app.paths, false),
  macro: ({ app }) => listMacros(app.paths),
  session: (ctx) => ctx.app.sessions.at(ctx.sessionsDir()).names(),
  rag: ({ app }) => listRags(app.paths),
  'agent-data': ({ app }) => listAgents(app.paths).filter((name) => dataOf(app, name).some((path) => existsSync(path))),
};

type Remover = (ctx: RequestContext, name: string) => Promise<void>;

const REMOVERS: Record<string, Remover> = {
  role: ({ app }, name) => removeFile(app.paths.roleFile(name), 'role_not_found', `role ${name} has no file`),
  macro: ({ app }, name) => removeFile(app.paths.macroFile(name), 'macro_not_found', `there is no macro ${name}`),
  session: (ctx, name) => ctx.app.sessions.at(ctx.sessionsDir()).delete(name),
  async rag({ app }, name) {
    const file = app.paths.ragFile(name);
    await removeFile(file, 'rag_not_found', `there is no RAG ${name}`);
    await rm(file.replace(/\.yaml$/, '.sqlite'), { force: true });
    app.ragCache.invalidate({ kind: 'named', name });
  },
  /** Its sessions, index and messages; its definition stays. */
  async 'agent-data'({ app }, name) {
    const gone = dataOf(app, name);
    if (!gone.some((path) => existsSync(path)))
      throw new ReefError('agent_missing', `agent ${name} has stored nothing`);
    for (const path of gone) await rm(path, { recursive: true, force: true });
    app.ragCache.invalidate({ kind: 'agent', name });
  },
};

function dataOf({ paths }: RequestContext['app'], name: string): string[] {
  const rag = paths.agentRagFile(name);
  return [paths.agentSessionsDir(name), rag, rag.replace(/\.yaml$/, '.sqlite'), paths.messagesFile(name)];
}

async function removeFile(file: string, code: 'role_not_found' | 'macro_not_found' | 'rag_not_found', message: string) {
  if (!existsSync(file)) throw new ReefError(code, message);
  await rm(file);
}

async function remove({ ctx, say }: CommandDeps, args: string): Promise<void> {
  const usage = `.delete ${Object.keys(REMOVERS).join('|')} [NAME]`;
  const [kind, name] = words(args);
  const remover = Object.hasOwn(REMOVERS, kind) ? REMOVERS[kind] : undefined;
  if (!remover) throw new ReefError('bad_request', `usage: ${usage}`);
  if (name === '') return removeChosen({ ctx, say }, kind, remover);
  if (ctx.ui && ctx.macroDepth === 0 && !(await ctx.ui.confirm(`Delete ${kind} ${name}?`, false))) return;
  await remover(ctx, name);
  say(`Deleted ${kind} ${name}`);
}

/** Whoever chose by number has said yes. */
async function removeChosen(
  { ctx, say }: Pick<CommandDeps, 'ctx' | 'say'>,
  kind: string,
  remover: Remover,
): Promise<void> {
  const names = (await STORED[kind]?.(ctx)) ?? [];
  if (names.length === 0) throw new ReefError('bad_request', `there is no ${kind} to delete`);
  if (!ctx.ui || ctx.macroDepth > 0) {
    throw new ReefError('bad_request', `nobody can choose here: add one of ${names.join(', ')}`);
  }
  const chosen = await ctx.ui.choose(`Delete which ${kind}? Nothing deletes nothing.`, names);
  for (const name of chosen) await remover(ctx, name);
  say(chosen.length === 0 ? 'Nothing is deleted.' : `Deleted ${kind} ${chosen.join(', ')}`);
}

async function vault(deps: CommandDeps, args: string): Promise<void> {
  const { ctx, say } = deps;
  const store = ctx.app.vault;
  const [what, name] = words(args);
  const usage = '.vault add|get|update|delete NAME, or .vault list';
  if (what === 'list') return say((await store.list()).join('\n') || 'The vault is empty.');
  required(name, usage);
  switch (what) {
    case 'add':
      await store.add(name, await secretFor(deps, name));
      return say(`Added ${name}`);
    case 'update':
      await store.update(name, await secretFor(deps, name));
      return say(`Updated ${name}`);
    case 'get':
      return say(await store.get(name));
    case 'delete':
      await store.delete(name);
      return say(`Deleted ${name}`);
    default:
      throw new ReefError('bad_request', `usage: ${usage}`);
  }
}

async function secretFor({ face }: CommandDeps, name: string): Promise<string> {
  if (!face.secret)
    throw new ReefError(
      'invalid_state',
      'the value cannot be asked for here: run `reef vault add NAME` at a terminal first',
    );
  const value = await face.secret(`Value of ${name}: `);
  if (value === '') throw new ReefError('bad_request', `${name}: no value was given`);
  return value;
}
