import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { processesWith, SLOW_MS } from './real.ts';
import { call, type Line, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const SERVER = join(import.meta.dirname, '../support/runtime/mcp-server.ts');
const MARK = `--team-life-${process.pid}`;
const AGENTS = {
  boss: { can_spawn_agents: true, mcp_servers: ['github'], global_tools: ['execute_command'] },
  lead: { can_spawn_agents: true, mcp_servers: ['jira'] },
  hand: { global_tools: ['execute_command'] },
};
/** Three deep, with servers, and at the bottom a command that does not end by itself. */
const TREE: Line[] = [
  { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'lead', prompt: 'Lead it' })] },
  { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'lead' })] },
  { agent: 'lead', user: 'Lead it', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
  { agent: 'lead', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
  { agent: 'hand', user: 'Do it', does: [call('execute_command', { command: `sleep 600 # ${MARK}` })] },
];

function open(): TeamWorld {
  const opened = teamWorld(AGENTS, { reef: { permissions: [{ tool: 'execute_command', action: 'allow' }] } });
  const servers = ['github', 'jira'].map((name) => [
    name,
    { command: process.execPath, args: [SERVER, `${MARK}-${name}`] },
  ]);
  opened.write('functions/mcp.json', JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
  return opened;
}

/** Until the command at the bottom runs; the three jobs. */
async function grown(): Promise<{ boss: JobView; lead: JobView; hand: JobView }> {
  const id = await world.start('boss', 'Begin');
  const lead = await world.child(id, 'lead');
  const hand = await world.child(lead.id, 'hand');
  await eventually(
    () => processesWith(`sleep 600 # ${MARK}`),
    (found) => found.length > 0,
  );
  expect(processesWith(`${MARK}-github`).length > 0 && processesWith(`${MARK}-jira`).length > 0).toBe(true);
  return { boss: await world.job(id), lead, hand };
}

/** The host as the kernel sees it: the node process of the job's own program. */
function hostPid(id: string): number {
  const found = readdirSync('/proc').find((name) => {
    try {
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      const isHost = args[0] === process.execPath && (args[1] ?? '').endsWith('native-agent.ts');
      return isHost && readFileSync(`/proc/${name}/environ`, 'utf8').includes(`/${id}/sock`);
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`no host of ${id}`);
  return Number(found);
}

const nothingLeft = (...ids: string[]) =>
  eventually(
    () => processesWith(MARK, ...ids),
    (left) => left.length === 0,
  );

verifies('R-08', 'R-103', 'A-81').test(
  'killing the root ends all below it, their servers and their commands',
  async () => {
    world = open();
    world.play(TREE);
    const { boss, lead, hand } = await grown();
    expect(await world.client.call('kill', { id: boss.id })).toMatchObject({ status: 'killed' });
    const statuses = await Promise.all([boss, lead, hand].map(async ({ id }) => (await world.job(id)).status));
    expect(statuses).toEqual(['killed', 'killed', 'killed']);
    await nothingLeft(boss.id, lead.id, hand.id);
  },
  SLOW_MS,
);

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  verifies('R-08', 'R-36').test(
    `${signal} to the host of a family leaves no process of any of them`,
    async () => {
      world = open();
      world.play(TREE);
      const { boss, lead, hand } = await grown();
      process.kill(hostPid(boss.id), signal);
      await nothingLeft(boss.id, lead.id, hand.id);
      const over = await Promise.all(
        [boss, lead, hand].map(({ id }) => world.until(id, ({ endedAt }) => endedAt !== undefined)),
      );
      expect(over.every(({ status }) => status !== 'completed')).toBe(true);
    },
    SLOW_MS,
  );
}

for (const isDaemonToo of [false, true]) {
  verifies('R-08', 'A-81').test(
    `a host that is killed takes along what it started of others${isDaemonToo ? ', also when nobody was there to see it' : ''}`,
    async () => {
      world = open();
      const stranger = world.stranger('boss');
      world.play([
        { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: stranger, prompt: 'Be there' })] },
        { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: '@last' })] },
      ]);
      const boss = await world.start('boss', 'Begin');
      const child = await world.child(boss, stranger);
      await world.until(child.id, ({ lastOutput }) => lastOutput === 'Here.');
      if (isDaemonToo) await world.killDaemon();
      process.kill(hostPid(boss), 'SIGKILL');
      expect(await world.until(child.id, ({ endedAt }) => endedAt !== undefined)).toMatchObject({ status: 'killed' });
      await nothingLeft(boss, child.id);
    },
    SLOW_MS,
  );
}

verifies('R-08').test(
  'a host that does not let go of a child that is killed is ended whole, with all the others in it',
  async () => {
    world = open();
    world.play(TREE);
    const { boss, lead, hand } = await grown();
    process.kill(hostPid(boss.id), 'SIGSTOP');
    expect(await world.client.call('kill', { id: hand.id })).toMatchObject({ status: 'killed' });
    for (const { id } of [boss, lead]) {
      expect(await world.until(id, ({ endedAt }) => endedAt !== undefined)).toMatchObject({ status: 'killed' });
    }
    await nothingLeft(boss.id, lead.id, hand.id);
  },
  SLOW_MS,
);

verifies('R-08', 'R-103').test(
  'killing a child ends its context and its commands, and its parent hears of it and goes on',
  async () => {
    world = open();
    world.play([
      ...TREE,
      { agent: 'lead', tool: 'agent__collect', says: 'The hand is gone.' },
      { agent: 'boss', tool: 'agent__collect', says: 'So be it.' },
    ]);
    const { boss, lead, hand } = await grown();
    await world.client.call('kill', { id: hand.id });
    await eventually(
      () => processesWith(`sleep 600 # ${MARK}`, hand.id),
      (left) => left.length === 0,
    );
    expect(await world.until(boss.id, ({ status }) => status === 'completed')).toMatchObject({
      lastOutput: 'So be it.',
    });
    expect(JSON.parse((await world.results(lead.id)).at(-1) ?? '')).toMatchObject({ id: hand.id, status: 'cancelled' });
  },
  SLOW_MS,
);

verifies('D12', 'R-103').test(
  'a parent that cancels a child hears of it when all below are gone, and what the child said stays readable',
  async () => {
    world = open();
    const at = (name: string) => join(world.root, name);
    const waitFor = (name: string, first = ':') =>
      call('execute_command', { command: `${first}; until [ -e ${at(name)} ]; do sleep 0.05; done` });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'lead', prompt: 'Lead it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [waitFor('grown')] },
      { agent: 'boss', tool: 'execute_command', does: [call('agent__cancel', { id: 'lead' })] },
      { agent: 'boss', tool: 'agent__cancel', does: [waitFor('seen', `touch ${at('cancelled')}`)] },
      { agent: 'boss', tool: 'execute_command', says: 'Enough.' },
      {
        ...{ agent: 'lead', user: 'Lead it', says: 'I have begun.' },
        does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })],
      },
      ...TREE.slice(3),
    ]);
    const { boss, lead, hand } = await grown();
    writeFileSync(at('grown'), '');
    await eventually(() => existsSync(at('cancelled')), Boolean);
    expect(processesWith(`sleep 600 # ${MARK}`)).toEqual([]);
    writeFileSync(at('seen'), '');
    expect(await world.until(boss.id, ({ status }) => status === 'completed')).toMatchObject({ lastOutput: 'Enough.' });
    expect(JSON.parse((await world.results(boss.id)).at(-2) ?? '')).toMatchObject({
      ...{ id: lead.id, agent: 'lead', status: 'cancelled', output: 'I have begun.' },
    });
    const statuses = await Promise.all([lead, hand].map(async ({ id }) => (await world.job(id)).status));
    expect(statuses).toEqual(['killed', 'killed']);
    await nothingLeft(boss.id, lead.id, hand.id);
  },
  SLOW_MS,
);

verifies('R-08', 'R-103').test(
  'a daemon that is killed while a parent collects costs nobody anything',
  async () => {
    world = open();
    world.play([
      ...TREE.slice(0, 4),
      { agent: 'hand', user: 'Do it', does: [call('execute_command', { command: `sleep 4 # ${MARK}` })] },
      { agent: 'hand', tool: 'execute_command', says: 'Slept.' },
      { agent: 'lead', tool: 'agent__collect', says: 'The hand has slept.' },
      { agent: 'boss', tool: 'agent__collect', says: 'Rested.' },
    ]);
    const id = await world.start('boss', 'Begin');
    const lead = await world.child(id, 'lead');
    await eventually(
      () => processesWith(`sleep 4 # ${MARK}`),
      (found) => found.length > 0,
    );
    await world.killDaemon();
    expect(await world.until(id, ({ status }) => status === 'completed', 40_000)).toMatchObject({
      lastOutput: 'Rested.',
    });
    expect(await world.job(lead.id)).toMatchObject({ status: 'completed', lastOutput: 'The hand has slept.' });
  },
  SLOW_MS,
);

verifies('R-101', 'A-76').test(
  "what children use counts against the root's budget",
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: {} });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'hand', user: 'Do it', does: [call('user__input', { question: 'Why?' })], times: 'always' },
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__cancel', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__cancel', says: 'Too dear.' },
    ]);
    const boss = await world.start('boss', 'Begin', { budget: { turns: 3 } });
    const hand = await world.child(boss, 'hand');
    // It is asked of whoever took the third turn, beside what the hand asks.
    await eventually(
      () => world.client.call('inbox', {}),
      (inbox) => inbox.questions.some(({ question }) => question.includes('The budget of 3 turns is used up')),
    );
    const turns = (await world.job(boss)).turns + (await world.job(hand.id)).turns;
    expect(turns).toBeGreaterThanOrEqual(3);
  },
  SLOW_MS,
);
