import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ReefError } from '../../../protocol/errors.ts';
import { loadMacro, runMacro, usageOf } from '../../../runtime/macros/macro.ts';
import { sysinfo } from '../../../runtime/state/info.ts';
import { type CommandDeps, type DotCommand, noAgent, required, words } from './command.ts';
import { continued, regenerated } from './last-answer.ts';

export const generalCommands: readonly DotCommand[] = [
  {
    name: '.info',
    does: 'Show settings and paths',
    run: ({ ctx, say }) => say(sysinfo(ctx)),
  },
  {
    name: '.model',
    usage: 'NAME',
    does: 'Use another model',
    run: ({ ctx, io }, args) => ctx.set('model', required(args, '.model NAME'), io.signal),
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
  { name: '.continue', does: 'Continue the last answer', run: ({ ctx }) => continued(ctx) },
  { name: '.regenerate', does: 'Ask the last question again', run: ({ ctx }) => regenerated(ctx) },
  { name: '.copy', does: 'Copy the last reply to the clipboard', run: copyReply },
  { name: '.macro', usage: 'NAME [TEXT]', does: 'Run the steps of a macro', run: macro },
  {
    name: '.edit config',
    does: 'Edit config.yaml',
    needs: [noAgent],
    run: editConfig,
  },
  { name: '.exit', does: 'Leave the chat', run: ({ leave }) => leave() },
];

async function copyReply({ ctx, face, say }: CommandDeps): Promise<void> {
  const reply = ctx.lastMessage?.output ?? '';
  if (reply === '') throw new ReefError('invalid_state', 'there is no reply yet: ask something first');
  if (!face.copy)
    throw new ReefError('invalid_state', 'there is no clipboard here: run `reef chat` at a terminal first');
  await face.copy(reply);
  say(`Copied ${reply.length} characters.`);
}

async function macro(deps: CommandDeps, args: string): Promise<void> {
  const { ctx, line, say } = deps;
  const [name, text] = words(required(args, '.macro NAME [TEXT]'));
  if (!existsSync(ctx.app.paths.macroFile(name)) && (await isMacroWritten(deps, name))) return;
  await runMacro(ctx, { name, args: text, runLine: line, print: say });
}

/** Whoever names a macro that is not there may write it now. It runs when it is called again. */
async function isMacroWritten({ ctx, face, say }: CommandDeps, name: string): Promise<boolean> {
  const file = ctx.app.paths.macroFile(name);
  const canAsk = face.edit && ctx.ui && ctx.macroDepth === 0;
  if (!canAsk || !(await ctx.ui.confirm(`There is no macro ${name}. Write one?`, false))) return false;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await face.edit?.(file);
  if (!existsSync(file)) return false;
  say(`Saved ${file}\nUsage: .macro ${usageOf(loadMacro(ctx.app.paths, name))}`);
  return true;
}

async function editConfig({ ctx, face, io, say }: CommandDeps): Promise<void> {
  await editorOf(face)(ctx.app.paths.configFile());
  const before = ctx.app;
  ctx.app = before.reload();
  try {
    await ctx.bootstrapTools(io.signal);
  } catch (error) {
    ctx.app = before;
    throw error;
  }
  say('The configuration is reloaded. New clients are available in the next chat.');
}

export function editorOf(face: CommandDeps['face']): (file: string) => Promise<void> {
  if (face.edit) return face.edit;
  throw new ReefError('invalid_state', 'there is no editor here: run `reef chat` at a terminal first');
}

export const serviceCommands: readonly DotCommand[] = [
  { name: '.jobs', does: 'List the jobs of this repository', run: async (deps) => deps.say(await jobsOf(deps).list()) },
  {
    name: '.inbox',
    usage: '[ID ANSWER]',
    does: 'List or answer the questions of jobs',
    async run(deps, args) {
      const [id, text] = words(args);
      if (id !== '' && text === '') throw new ReefError('bad_request', 'usage: .inbox [ID ANSWER]');
      deps.say(await jobsOf(deps).inbox(id === '' ? undefined : { id, text }));
    },
  },
  { name: '.info mcp', does: 'Show the MCP servers of this scope', run: ({ ctx, say }) => say(serversText(ctx)) },
  {
    name: '.reload mcp',
    does: 'Read mcp.json again',
    async run({ ctx, io, say }) {
      await ctx.app.mcpFactory.reload();
      await ctx.bootstrapTools(io.signal);
      say(serversText(ctx));
    },
  },
];

function jobsOf({ face }: CommandDeps): NonNullable<CommandDeps['face']['jobs']> {
  if (face.jobs) return face.jobs;
  throw new ReefError('invalid_state', 'there are no jobs here: go into a git repository first');
}

function serversText({ app, toolScope: { mcpRuntime } }: CommandDeps['ctx']): string {
  const running = [...mcpRuntime.servers].map(([name, { value }]) => {
    const place = value.pid === undefined ? 'remote' : `pid ${value.pid}`;
    const { suspended } = value;
    const waits = suspended.length === 0 ? '' : `, ${suspended.length} suspended: ${suspended.join(', ')}`;
    return `${name}  ${place}  ${value.tools.length} tools${waits}`;
  });
  const missing = [...mcpRuntime.unavailable].map(([name, error]) => `${name}  unavailable: ${error.message}`);
  const { spawned, active_hit, idle_hit } = app.mcpFactory.stats();
  const counts = `started ${spawned}, shared ${active_hit}, revived ${idle_hit}`;
  return [
    ...running,
    ...missing,
    ...(running.length + missing.length === 0 ? ['No MCP server is enabled.'] : []),
    counts,
  ].join('\n');
}
