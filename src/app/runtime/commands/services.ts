import { ReefError } from '../../../protocol/errors.ts';
import type { DotCommand, Hands } from './command.ts';
import { words } from './words.ts';

/** Beyond the ancestor's 39: jobs of the daemon, MCP servers. */
export const serviceCommands: readonly DotCommand[] = [
  { name: '.jobs', does: 'Jobs of this repository', run: async (hands) => hands.say(await jobsOf(hands).list()) },
  {
    name: '.inbox',
    usage: '[ID ANSWER]',
    does: 'Questions of jobs, and their answers',
    async run(hands, args) {
      const [id, text] = words(args);
      if (id !== '' && text === '') throw new ReefError('bad_request', 'usage: .inbox [ID ANSWER]');
      hands.say(await jobsOf(hands).inbox(id === '' ? undefined : { id, text }));
    },
  },
  { name: '.info mcp', does: 'MCP servers of this scope', run: ({ ctx, say }) => say(serversText(ctx)) },
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

function jobsOf({ face }: Hands): NonNullable<Hands['face']['jobs']> {
  if (face.jobs) return face.jobs;
  throw new ReefError('invalid_state', 'there are no jobs here: go into a git repository first');
}

function serversText({ app, toolScope: { mcpRuntime } }: Hands['ctx']): string {
  const running = [...mcpRuntime.servers].map(([name, { value }]) => {
    const place = value.pid === undefined ? 'remote' : `pid ${value.pid}`;
    return `${name}  ${place}  ${value.tools.length} tools`;
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
