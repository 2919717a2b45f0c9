import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { processesWith, SLOW_MS } from './real.ts';
import { call, type Line, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const SERVER = join(import.meta.dirname, '../support/runtime/mcp-server.ts');
const MARK = `--team-crowd-${process.pid}`;

function withServers(opened: TeamWorld, ...names: string[]): TeamWorld {
  const servers = names.map((name) => [name, { command: process.execPath, args: [SERVER, `${MARK}-${name}`] }]);
  opened.write('functions/mcp.json', JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  return opened;
}

/** A call of a tool that is not there answers with those that are. */
const PROBE = call('not_there');
const serversIn = (text = '') => [...text.matchAll(/mcp_search_(\w+)/g)].map(([, name]) => name);
/** The programs themselves, without the wrappers that hold them. */
const running = (name: string) =>
  processesWith(`${MARK}-${name}`).filter(({ args }) => args.startsWith(process.execPath));

verifies('R-132', 'R-134', 'R-100').test(
  'T12: real processes: each agent has its own servers, and a server two of them want is one process',
  async () => {
    world = withServers(
      teamWorld({
        boss: { can_spawn_agents: true, mcp_servers: ['github'] },
        one: { mcp_servers: ['jira'] },
        two: { mcp_servers: ['github', 'jira'] },
      }),
      ...['github', 'jira'],
    );
    world.play([
      {
        agent: 'boss',
        user: 'Begin',
        does: ['one', 'two'].map((agent) => call('agent__spawn', { agent, prompt: 'Look' })),
      },
      { agent: 'boss', tool: 'agent__spawn', does: ['one', 'two'].map((id) => call('agent__collect', { id })) },
      {
        agent: 'boss',
        tool: 'agent__collect',
        does: [call('agent__collect', { id: 'one' }), call('agent__collect', { id: 'two' })],
      },
      { agent: 'boss', tool: 'agent__collect', does: [PROBE] },
      { agent: 'boss', tool: 'not_there', says: 'Seen.' },
      ...['one', 'two'].flatMap((agent): Line[] => [
        { agent, user: 'Look', does: [PROBE] },
        { agent, tool: 'not_there', does: [call('user__input', { question: `Shall ${agent} go on?` })] },
        { agent, tool: 'user__input', says: `${agent} has looked.` },
      ]),
    ]);
    const boss = await world.start('boss', 'Begin');
    const [one, two] = await Promise.all([world.child(boss, 'one'), world.child(boss, 'two')]);
    for (const { id } of [one, two]) await world.until(id, ({ questions }) => questions.length > 0);
    // All three hold their servers now.
    expect(['github', 'jira'].map((name) => running(name).length)).toEqual([1, 1]);
    for (const { id } of [one, two]) await world.client.call('send', { id, text: 'yes' });
    await world.until(boss, ({ status }) => status === 'completed');
    const seen = await Promise.all([boss, one.id, two.id].map((id) => world.results(id)));
    const probed = seen.map((results) => serversIn(results.find((text) => text.includes('tool_unknown'))));
    expect(probed).toEqual([['github'], ['jira'], ['github', 'jira']]);
    await eventually(
      () => processesWith(MARK),
      (left) => left.length === 0,
    );
  },
  SLOW_MS,
);

verifies('R-153', 'R-106', 'R-101').test(
  'ten agents at once, each with its own conversation, session and message, and none hears what is not its own',
  async () => {
    const names = Array.from({ length: 10 }, (_, n) => `agent${n}`);
    world = teamWorld(
      {
        boss: { can_spawn_agents: true, max_concurrent_agents: 10 },
        ...Object.fromEntries(names.map((name) => [name, { global_tools: ['execute_command'] }])),
      },
      { reef: { max_jobs: 16, permissions: [{ tool: 'execute_command', action: 'allow' }] } },
    );
    // Nobody takes a second step before all letters are written.
    const written = join(world.root, 'written');
    const waits = call('execute_command', { command: `until [ -e ${written} ]; do sleep 0.1; done` });
    world.play([
      {
        agent: 'boss',
        user: 'Begin',
        does: names.map((agent) => call('agent__spawn', { agent, prompt: `Word of ${agent}.` })),
      },
      ...['agent__spawn', 'agent__send_message'].map(
        (tool, n): Line => ({
          agent: 'boss',
          tool,
          does: names.map((id) =>
            n === 0 ? call('agent__send_message', { id, message: `Letter to ${id}.` }) : call('agent__collect', { id }),
          ),
        }),
      ),
      { agent: 'boss', tool: 'agent__collect', says: 'All ten are done.' },
      ...names.flatMap((agent): Line[] => [
        { agent, user: `^Word of ${agent}\\.$`, does: [waits, call('agent__list')] },
        { agent, user: `Letter to ${agent}\\.$`, says: `${agent} has its letter.` },
      ]),
    ]);
    const boss = await world.start('boss', 'Begin');
    await eventually(
      () => world.results(boss),
      (all) => all.filter((text) => text.includes('"sent"')).length === names.length,
    );
    writeFileSync(written, '');
    expect(await world.until(boss, ({ endedAt }) => endedAt !== undefined, 90_000)).toMatchObject({
      status: 'completed',
      lastOutput: 'All ten are done.',
    });
    const collected = (await world.results(boss))
      .filter((text) => text.includes('"exit_status"'))
      .map((text) => JSON.parse(text));
    collected.sort((a, b) => a.agent.localeCompare(b.agent)); // side by side, so in the order they ended
    expect(collected.map(({ agent, status, output }) => ({ agent, status, output }))).toEqual(
      names.map((agent) => ({ agent, status: 'completed', output: `${agent} has its letter.` })),
    );
    expect(new Set(collected.map(({ id }) => id)).size).toBe(10);
  },
  SLOW_MS,
);

verifies('R-101', 'R-100').test(
  'another program as a child has to be named, is a job of the family, and takes messages through its own wire',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true } });
    const script = world.script('helper', [{ say: 'Helper at work.' }]);
    world.write(
      'agents/boss/config.yaml',
      `can_spawn_agents: true\nspawnable_agents: ['${script}']\ninstructions: Boss.\n`,
    );
    world.configure({
      model: 'scripted:play',
      clients: [{ type: 'scripted', models: [{ name: 'play', script: join(world.root, 'model.yaml') }] }],
      agents: { [script]: {} },
    });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'claude', prompt: 'No' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__spawn', { agent: script, prompt: 'Help' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: '@last' })] },
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__send_message', { id: '@last', message: 'more' })] },
      { agent: 'boss', tool: 'agent__send_message', says: 'Enough.' },
    ]);
    const boss = await world.start('boss', 'Begin');
    await world.until(boss, ({ status }) => status === 'completed');
    const helper = await world.child(boss, script);
    expect(helper).toMatchObject({ status: 'completed', parentId: boss, rootId: boss, depth: 1 });
    const [refused, , collected, told] = (await world.results(boss)).map((text) => JSON.parse(text));
    expect([refused.code, told.code]).toEqual(['agent_not_allowed', 'job_ended']);
    expect(collected).toEqual({
      ...{ id: helper.id, agent: script, status: 'completed', exit_status: '0', output: 'Helper at work.' },
    });
  },
  SLOW_MS,
);

verifies('R-08').test(
  "an agent below somebody else's program is a host of its own, and a finished job goes on where it was",
  async () => {
    world = teamWorld({ hand: { can_spawn_agents: true, max_agent_depth: 1 } });
    const stranger = world.script('stranger', [{ ask: { question: 'Still there?' } }]);
    world.play([
      { agent: 'hand', user: 'First', does: [call('agent__spawn', { agent: 'hand', prompt: 'Deeper' })] },
      { agent: 'hand', tool: 'agent__spawn', says: 'Not deeper.' },
    ]);
    const { agentId: parentId } = await world.client.call('spawn', {
      agent: stranger,
      task: 'Be there',
      sandbox: false,
    });
    const id = await world.start('hand', 'First', { parentId });
    expect(await world.until(id, ({ endedAt }) => endedAt !== undefined)).toMatchObject({
      ...{ status: 'completed', lastOutput: 'Not deeper.', depth: 1 },
    });
    expect(JSON.parse((await world.results(id))[0] ?? '')).toMatchObject({ code: 'agent_depth' });
    world.play([{ agent: 'hand', user: 'Second', says: 'I remember.' }]);
    await world.client.call('resume', { id, text: 'Second' });
    expect(await world.until(id, ({ status, launch }) => status === 'completed' && launch === 2)).toMatchObject({
      lastOutput: 'I remember.',
    });
    const link = () => realpathSync(join(world.home.sockets, id, 'host'));
    expect(link).toThrow();
  },
  SLOW_MS,
);
