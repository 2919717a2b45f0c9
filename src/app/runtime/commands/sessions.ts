import { join } from 'node:path';
import { stateFile } from '../../../runtime/sessions/state-file.ts';
import { sessionInfo } from '../../../runtime/state/info.ts';
import { aSession, type CommandDeps, type DotCommand, noSession, startedSession } from './command.ts';
import { editorOf } from './general.ts';

export const sessionCommands: readonly DotCommand[] = [
  {
    name: '.session',
    usage: '[NAME]',
    does: 'Start or resume a session',
    needs: [noSession],
    run: ({ ctx, io }, args) => ctx.useSession(args === '' ? undefined : args, io.signal),
  },
  {
    name: '.empty session',
    does: 'Clear the session',
    needs: [startedSession],
    run: ({ ctx }) => ctx.emptySession(),
  },
  {
    name: '.compress session',
    does: 'Replace the conversation with a summary',
    needs: [startedSession],
    run: compress,
  },
  {
    name: '.info session',
    does: 'Show the session',
    needs: [aSession],
    run: ({ ctx, say }) => say(sessionInfo(ctx).trimEnd()),
  },
  { name: '.edit session', does: 'Edit the file of the session', needs: [aSession], run: editSession },
  {
    name: '.save session',
    usage: '[NAME]',
    does: 'Save the session',
    needs: [aSession],
    async run({ ctx, say }, args) {
      await ctx.saveSession(args === '' ? undefined : args);
      say(`Saved as ${ctx.session?.name}`);
    },
  },
  {
    name: '.exit session',
    does: 'Leave the session',
    needs: [aSession],
    run: ({ ctx, io }) => ctx.exitSession(io.signal),
  },
  {
    name: '.fork session',
    does: 'Continue in a copy of the session',
    needs: [aSession],
    run: ({ ctx, io }) => ctx.forkSession(io.signal),
  },
  {
    name: '.undo',
    does: 'Remove the last question and its answer',
    needs: [startedSession],
    run: ({ ctx }) => ctx.undo(),
  },
];

async function compress({ ctx, io, say }: CommandDeps): Promise<void> {
  const result = await ctx.compressSession({ signal: io.signal });
  say(result ? 'Compressed.' : 'There is nothing to compress.');
}

async function editSession({ ctx, face, io }: CommandDeps): Promise<void> {
  const edit = editorOf(face);
  await ctx.saveSession();
  const { session } = ctx;
  if (!session) return;
  await edit(stateFile(join(ctx.sessionsDir(), 'by-id', session.id)));
  // Read before the old session is left: an unreadable file changes nothing.
  await ctx.app.sessions.at(ctx.sessionsDir()).open(session.id);
  await ctx.exitSession(io.signal);
  await ctx.useSession(session.id, io.signal);
}
