import { existsSync } from 'node:fs';
import { ReefError } from '../../../protocol/errors.ts';
import { userText } from '../../../runtime/models/message.ts';
import { hasRole, loadRole, saveRole } from '../../../runtime/roles/role-folder.ts';
import { roleInfo } from '../../../runtime/state/info.ts';
import { extractRole } from '../../../runtime/state/turns.ts';
import {
  aRole,
  type CommandDeps,
  checkNeeds,
  type DotCommand,
  noAgent,
  noSession,
  noStartedSession,
  required,
  words,
} from './command.ts';
import { editorOf } from './general.ts';

export const roleCommands: readonly DotCommand[] = [
  {
    name: '.prompt',
    usage: 'TEXT',
    does: 'Use a prompt as a role without a name',
    needs: [noAgent, noStartedSession],
    run: ({ ctx, io }, args) => ctx.usePrompt(required(args, '.prompt TEXT'), io.signal),
  },
  { name: '.role', usage: 'NAME [TEXT]', does: 'Enter a role, or ask one question in it', run: enterRole },
  {
    name: '.info role',
    does: 'Show the role',
    needs: [aRole],
    run: ({ ctx, say }) => say(roleInfo(ctx).trimEnd()),
  },
  { name: '.edit role', does: 'Edit the file of the role', needs: [aRole, noStartedSession], run: editRole },
  {
    name: '.save role',
    usage: '[NAME]',
    does: 'Write the role to its file',
    needs: [aRole, noSession],
    run: storeRole,
  },
  {
    name: '.exit role',
    does: 'Leave the role',
    needs: [aRole, noStartedSession],
    run: ({ ctx, io }) => ctx.exitRole(io.signal),
  },
];

/** With a text it is one turn outside session and agent. */
async function enterRole(deps: CommandDeps, args: string): Promise<void> {
  const { ctx, io, aside } = deps;
  const [name, text] = words(required(args, '.role NAME [TEXT]'));
  if (text !== '') return aside(loadRole(ctx.app.paths, name, ctx.app.warn), userText(text));
  checkNeeds(ctx, [noAgent, noStartedSession]);
  if (!hasRole(ctx.app.paths, name)) await createRole(deps, name);
  await ctx.useRole(name, io.signal);
}

async function createRole({ ctx, face }: CommandDeps, name: string): Promise<void> {
  const file = ctx.app.paths.roleFile(name);
  const isWanted = face.edit && ctx.ui && (await ctx.ui.confirm(`There is no role ${name}. Write one?`, false));
  if (isWanted) await face.edit?.(file);
  if (!existsSync(file)) throw new ReefError('role_not_found', `there is no role ${name}`);
}

async function editRole({ ctx, face, io }: CommandDeps): Promise<void> {
  const edit = editorOf(face);
  const { paths, warn } = ctx.app;
  const name = (ctx.session?.role ?? ctx.role)?.name ?? '';
  if (!hasRole(paths, name)) {
    throw new ReefError('invalid_state', 'the role has no file: run `.save role NAME` first');
  }
  // A shipped role becomes the user's own when it is edited.
  if (!existsSync(paths.roleFile(name))) await saveRole(paths, loadRole(paths, name, warn));
  await edit(paths.roleFile(name));
  await ctx.useRole(name, io.signal);
}

async function storeRole({ ctx, io, say }: CommandDeps, args: string): Promise<void> {
  const name = args === '' ? (ctx.role?.name ?? '') : args;
  const role = { ...extractRole(ctx), prompt: ctx.role?.prompt ?? '', name };
  if (args === '' && !hasRole(ctx.app.paths, name)) {
    throw new ReefError('bad_request', 'usage: .save role NAME');
  }
  say(`Saved ${await saveRole(ctx.app.paths, role)}`);
  await ctx.useRole(name, io.signal);
}
