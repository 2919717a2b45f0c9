import { ReefError } from '../../../protocol/errors.ts';
import { runMacro } from '../../../runtime/macros/run-macro.ts';
import { renderInfo, sysinfo } from '../../../runtime/state/show/info.ts';
import { type DotCommand, type Hands, noAgent } from './command.ts';
import { continued, regenerated } from './last-answer.ts';
import { required, words } from './words.ts';

export const generalCommands: readonly DotCommand[] = [
  {
    name: '.info',
    does: 'What is in effect, and where things lie',
    run: ({ ctx, say }) => say(renderInfo(sysinfo(ctx.app.config, ctx))),
  },
  {
    name: '.authenticate',
    usage: '[CLIENT]',
    does: 'Log in to a client that works by OAuth',
    run: ({ ctx }, args) => refuseOauth(args === '' ? ctx.model.client : args),
  },
  {
    name: '.model',
    usage: 'NAME',
    does: 'Use another model',
    run: ({ ctx, io }, args) => ctx.setModel(required(args, '.model NAME'), io.signal),
  },
  {
    name: '.set',
    usage: 'KEY VALUE',
    does: 'Change a setting; `null` unsets it',
    run: ({ ctx, io }, args) => ctx.update(args, io.signal),
  },
  {
    name: '.file',
    usage: 'PATH|URL|LOADER:PATH|%%|`COMMAND`… [-- TEXT]',
    does: 'Ask about files, folders, addresses, the last reply, or what a command prints',
    run: async ({ input }, args) => ({ question: await input(required(args, '.file PATH… -- TEXT')) }),
  },
  { name: '.continue', does: 'Let the last answer go on', run: ({ ctx }) => continued(ctx) },
  { name: '.regenerate', does: 'Ask the last question again', run: ({ ctx }) => regenerated(ctx) },
  { name: '.copy', does: 'Copy the last reply to the clipboard', run: copyReply },
  { name: '.macro', usage: 'NAME [TEXT]', does: 'Run the steps of a macro', run: macro },
  {
    name: '.edit config',
    does: 'Edit config.yaml',
    needs: [noAgent],
    run: editConfig,
  },
  { name: '.exit', does: 'Leave', run: ({ leave }) => leave() },
];

export function refuseOauth(client: string): never {
  throw new ReefError('oauth_not_configured', `${client} has no OAuth configured: it is used with an API key`);
}

async function copyReply({ ctx, face, say }: Hands): Promise<void> {
  const reply = ctx.lastMessage?.output ?? '';
  if (reply === '') throw new ReefError('invalid_state', 'there is no reply yet: ask something first');
  if (!face.copy)
    throw new ReefError('invalid_state', 'there is no clipboard here: run `reef chat` at a terminal first');
  await face.copy(reply);
  say(`Copied ${reply.length} characters.`);
}

async function macro({ ctx, line, say }: Hands, args: string): Promise<void> {
  const [name, text] = words(required(args, '.macro NAME [TEXT]'));
  await runMacro(ctx, { name, args: text, runLine: line, print: say });
}

async function editConfig({ ctx, face, io, say }: Hands): Promise<void> {
  await editorOf(face)(ctx.app.paths.configFile());
  const before = ctx.app;
  ctx.app = before.reload();
  try {
    await ctx.bootstrapTools(io.signal);
  } catch (error) {
    ctx.app = before;
    throw error;
  }
  say('The configuration is read again; new clients are there in the next chat.');
}

export function editorOf(face: Hands['face']): (file: string) => Promise<void> {
  if (face.edit) return face.edit;
  throw new ReefError('invalid_state', 'there is no editor here: run `reef chat` at a terminal first');
}
