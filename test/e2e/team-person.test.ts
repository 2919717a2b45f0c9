import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { openRuntime } from '../../src/app/runtime/open-runtime.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readEnvironment } from '../../src/base/env.ts';
import { contextHost } from '../../src/runtime/engine/context-host.ts';
import { PRESETS } from '../../src/runtime/engine/engine.ts';
import { userText } from '../../src/runtime/models/message.ts';
import { createPermissionGate } from '../../src/runtime/permissions/gate.ts';
import { createContext } from '../../src/runtime/state/init.ts';
import { TeamInbox } from '../../src/runtime/team/inbox.ts';
import { TeamSupervisor } from '../../src/runtime/team/supervisor.ts';
import { runWithTeam } from '../../src/runtime/team/team-host.ts';
import { createOutputCap } from '../../src/runtime/tools/output.ts';
import type { AskFn } from '../../src/runtime/tools/tool.ts';
import { withPersonTeam } from '../../src/surfaces/host/person-team.ts';
import { verifies } from '../verifies.ts';
import { eventually, processesWith, SLOW_MS } from './real.ts';
import { call, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const ask: AskFn = async () => ({ kind: 'input', text: 'the person says yes' });

/** What `ask` and `chat` do around a question to an agent. */
async function open(agent: string) {
  const runtime = await openRuntime({
    ...{
      env: readEnvironment(world.env),
      cwd: world.repository,
      clock: systemClock,
      version: '0.0.0',
      isOneShot: true,
      ask,
    },
  });
  const { client } = world;
  const app = withPersonTeam(runtime.app, { client, ask, outputsDir: runtime.outputsDir });
  const ctx = createContext(app, { workingMode: 'cmd' });
  await ctx.useAgent({ name: agent });
  const { supervisor, inbox } = ctx.agentRuntime ?? {};
  if (!(supervisor instanceof TeamSupervisor && inbox instanceof TeamInbox)) throw new Error('no team');
  const host = contextHost(ctx, {
    ...{
      ask,
      gate: createPermissionGate({ rules: [] }),
      outputs: createOutputCap(join(world.root, 'out'), randomUUID),
    },
  });
  const tell = async (text: string) => {
    const request = { requestId: randomUUID(), input: userText(text), options: PRESETS.cli };
    return runWithTeam(host, request, { supervisor, inbox, emitter: [] });
  };
  return { ctx, tell };
}

verifies('R-08', 'R-102').test(
  'an agent a person talks to needs no daemon until it starts another, and that one is a job with the one inbox',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: {} });
    world.play([
      { agent: 'boss', user: 'Alone', does: [call('user__input', { question: 'May I?' })] },
      { agent: 'boss', tool: 'user__input', says: 'I may.' },
      { agent: 'boss', user: 'Together', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', says: 'Both of us.' },
      { agent: 'hand', user: 'Do it', does: [call('user__input', { question: 'How?' })] },
      { agent: 'hand', tool: 'user__input', says: 'Like this.' },
    ]);
    const { ctx, tell } = await open('boss');
    expect(await tell('Alone')).toMatchObject({ final_message: 'I may.' });
    expect(await world.client.daemon()).toBe(undefined);

    const together = tell('Together');
    const { questions } = await eventually(
      async () => ((await world.client.daemon()) ? world.client.call('inbox', {}) : { questions: [], notices: [] }),
      (inbox) => inbox.questions.length > 0,
    );
    expect(questions).toMatchObject([{ question: 'How?', agent: 'native:hand' }]);
    await world.client.call('send', { id: questions[0]?.jobId ?? '', text: 'well' });
    expect(await together).toMatchObject({ final_message: 'Both of us.' });
    await ctx.close();
    await eventually(
      () => processesWith(questions[0]?.jobId ?? 'none'),
      (left) => left.length === 0,
    );
  },
  SLOW_MS,
);
