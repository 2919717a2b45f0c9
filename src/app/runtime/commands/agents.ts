import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../../base/atomic-file.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { shippedAgent } from '../../../runtime/agent-spec/load.ts';
import { userText } from '../../../runtime/models/message.ts';
import type { Session } from '../../../runtime/sessions/session.ts';
import { agentBanner, agentInfo } from '../../../runtime/state/info.ts';
import { anAgent, type CommandDeps, type DotCommand, type FollowOn, noAgent, required } from './command.ts';
import { editorOf } from './general.ts';

export const agentCommands: readonly DotCommand[] = [
  {
    name: '.agent',
    usage: 'NAME [SESSION] [KEY=VALUE]…',
    does: 'Start an agent',
    needs: [noAgent],
    run: enterAgent,
  },
  {
    name: '.starter',
    usage: '[N]',
    does: "Ask one of the agent's conversation starters",
    needs: [anAgent],
    run: starter,
  },
  { name: '.edit agent-config', does: "Edit the agent's config.yaml", needs: [anAgent], run: editAgent },
  {
    name: '.info agent',
    does: 'Show the agent',
    needs: [anAgent],
    run: ({ ctx, say }) => say(agentInfo(ctx).trimEnd()),
  },
  {
    name: '.exit agent',
    does: 'Leave the agent',
    needs: [anAgent],
    run: ({ ctx, io }) => ctx.exitAgent(io.signal),
  },
  { name: '.clear todo', does: "Clear the agent's todo list", needs: [anAgent], run: clearTodo },
];

async function enterAgent({ ctx, io, say }: CommandDeps, args: string): Promise<void> {
  const [name = '', ...rest] = required(args, '.agent NAME [SESSION] [KEY=VALUE]…').split(/\s+/);
  const pairs = rest.map((word) => /^([A-Za-z_][\w-]*)=(.*)$/.exec(word)).filter((pair) => pair !== null);
  const variables = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]));
  const session = rest.find((word) => !word.includes('='));
  await ctx.useAgent({ name, session, variables, signal: io.signal });
  say(agentBanner(ctx));
}

function starter({ ctx, say }: CommandDeps, args: string): FollowOn | undefined {
  const starters = ctx.agent?.spec.conversation_starters ?? [];
  if (args === '') {
    say(
      starters.length === 0
        ? 'The agent has no conversation starters.'
        : starters.map((text, n) => `${n + 1}. ${text}`).join('\n'),
    );
    return undefined;
  }
  const text = /^\d+$/.test(args) ? starters[Number(args) - 1] : undefined;
  if (text === undefined)
    throw new ReefError('bad_request', `there is no starter ${args}: the agent has ${starters.length}`);
  return { question: userText(text) };
}

async function editAgent({ ctx, face, io }: CommandDeps): Promise<void> {
  const edit = editorOf(face);
  const { agent, app, session } = ctx;
  if (!agent) return;
  const file = app.paths.agentConfigFile(agent.name);
  if (!existsSync(file)) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeAtomic(file, shippedAgent(agent.name) ?? '');
  }
  await edit(file);
  const again = { name: agent.name, session: session && wayBackTo(session), variables: agent.variables };
  await ctx.exitAgent(io.signal);
  await ctx.useAgent({ ...again, signal: io.signal });
}

/** A session without a word is stored nowhere: it begins again by its name. */
function wayBackTo({ isStored, isTemporary, id, name }: Session): string | undefined {
  if (isStored) return id;
  return isTemporary ? undefined : name;
}

function clearTodo({ ctx, say }: CommandDeps): void {
  const { todoList } = ctx.agentRuntime ?? {};
  if (!todoList) throw new ReefError('invalid_state', 'the agent has no todo list: set `auto_continue: true` first');
  todoList.clear();
  say('The todo list is empty.');
}
