import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { stringify } from 'yaml';
import { jobSocketDir } from '../../src/agents/sandbox.ts';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import { connect } from '../../src/surfaces/client/client.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { processesWith, refusal, SLOW_MS } from './real.ts';
import { call, type Line, type TeamWorld, teamWorld } from './team-rig.ts';

/** A run is a child of the agent that starts it, and the agents of its blocks are jobs below that agent. */
let world: TeamWorld;
afterEach(() => world.close());

const BOSS = { can_spawn_agents: true, spawnable_agents: ['workflow:Paint'] };
const AGENTS = { boss: BOSS, lead: { can_spawn_agents: true }, hand: {} };

async function open(
  agents: Record<string, Record<string, unknown>> = AGENTS,
  config: Record<string, unknown> = {},
): Promise<void> {
  world = teamWorld(agents, config);
  const halt = { on_signal: 'SIGNAL:FAIL_DEFAULT', action: 'HALT_AND_FLAG' };
  const transitions = [{ on_signal: 'SIGNAL:SUCCESS', action: 'RETURN' }, halt];
  const node = (name: string) => ({
    ...{ entry_block: `${name}__Lead`, context_inheritance: true },
    blocks: { Lead: { worker: 'Agent:native:lead', instructions: `${name} it`, transitions } },
  });
  mkdirSync(join(world.repository, '.reef'), { recursive: true });
  writeFileSync(
    join(world.repository, '.reef', 'workflows.yaml'),
    stringify({ start: 'Paint', nodes: { Paint: node('Paint') } }, { aliasDuplicateObjects: false }),
  );
  const { items } = await world.client.call('trust', {});
  await world.client.call('trust', { hashes: items.map(({ hash }) => hash) });
}

const RUN: Line[] = [
  {
    ...{ agent: 'boss', user: 'Begin' },
    does: [call('agent__spawn', { agent: 'workflow:Paint', prompt: 'Paint the wall', plan: ['wall.txt'] })],
  },
  { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'workflow:Paint' })] },
];
const LEAD: Line[] = [
  { agent: 'lead', user: 'Paint__Lead, visit', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
  { agent: 'lead', tool: 'agent__spawn', result: 'spawned', does: [call('agent__collect', { id: 'hand' })] },
];
const HAND: Line[] = [
  { agent: 'hand', user: 'Do it', does: [call('user__ask', { question: 'Red or blue?', options: ['red', 'blue'] })] },
  { agent: 'hand', tool: 'user__ask', result: 'blue', says: 'It is blue now.' },
];

async function asked(): Promise<InboxEntry> {
  const { questions } = await eventually(
    () => world.client.call('inbox', {}),
    (inbox) => inbox.questions.length > 0,
  );
  const [question] = questions;
  if (!question) throw new Error('nobody asks');
  return question;
}

/** The one run, as people see it. */
async function theRun() {
  const [run] = (await world.client.call('runs', {})).runs;
  if (!run) throw new Error('no run');
  return run;
}

verifies('R-100', 'R-102', 'R-103', 'U-14', 'A-80').test(
  'an agent runs a workflow: a question two below it has its whole chain, and the words below reach its own, with one place for all',
  async () => {
    await open(AGENTS, { reef: { max_jobs: 1 } });
    world.play([
      ...RUN,
      ...LEAD,
      ...HAND,
      { agent: 'lead', tool: 'agent__collect', result: 'It is blue now', says: 'Painted blue.\nSIGNAL:SUCCESS' },
      { agent: 'lead', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', result: 'Painted blue', says: 'The wall is blue.' },
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__collect', { id: 'workflow:Paint' })] },
    ]);
    const boss = await world.start('boss', 'Begin');
    const question = await asked();
    const [root, leadId = '', handId = ''] = question.path;
    const { runId, worktree, status, parentId } = await theRun();
    expect([root, status, parentId, question]).toMatchObject([
      ...[boss, 'awaiting_input', boss],
      { jobId: handId, runId, block: 'Paint__Lead', question: 'Red or blue?' },
    ]);
    const [lead, hand] = await Promise.all([leadId, handId].map((id) => world.job(id)));
    expect([lead, hand]).toMatchObject([
      { agent: 'native:lead', depth: 1, parentId: boss, worktree, maxDepth: 3 },
      { agent: 'native:hand', depth: 2, parentId: leadId, cwd: lead?.cwd },
    ]);
    const [told] = await eventually(
      () => world.results(boss).then((all) => all.filter((text) => text.includes('pending_escalations'))),
      (all) => all.length > 0,
    );
    expect(JSON.parse(told ?? '')).toMatchObject({
      ...{ status: 'pending_escalations', id: runId, agent: 'workflow:Paint' },
      pending_escalations: [{ job_id: handId, path: question.path }],
    });
    await world.client.call('send', { id: handId, option: ['blue'] });
    expect(await world.until(boss, (job) => job.status === 'completed')).toMatchObject({
      lastOutput: 'The wall is blue.',
    });
    expect([await theRun(), JSON.parse((await world.results(boss)).at(-1) ?? '')]).toMatchObject([
      { status: 'success' },
      {
        ...{ id: runId, agent: 'workflow:Paint', status: 'completed', exit_status: 'success' },
        output: expect.stringMatching(`${worktree}.*Paint__Lead#1 SIGNAL:SUCCESS: Painted blue`.replace('.*', '[^]*')),
      },
    ]);
  },
  SLOW_MS,
);

verifies('A-81', 'R-103').test(
  'killing an agent ends the run it started and all below that, and nobody is asked about it',
  async () => {
    await open();
    world.play([...RUN, ...LEAD, ...HAND, { ...RUN[1], tool: 'agent__collect', times: 'always' } as Line]);
    const boss = await world.start('boss', 'Begin');
    const { path } = await asked();
    await world.client.call('kill', { id: boss });
    const statuses = await Promise.all(path.map(async (id) => (await world.job(id)).status));
    expect(statuses).toEqual(['killed', 'killed', 'killed']);
    await eventually(theRun, ({ status }) => status === 'aborted');
    expect((await world.client.call('inbox', {})).questions).toEqual([]);
    await eventually(
      () => processesWith(...path),
      (left) => left.length === 0,
    );
  },
  SLOW_MS,
);

verifies('R-107').test(
  'a turn does not end over a run nobody took: it is asked for, then ended and named',
  async () => {
    await open();
    world.play([
      ...RUN.slice(0, 1),
      ...LEAD,
      ...HAND,
      { agent: 'boss', tool: 'agent__spawn', says: 'Done.' },
      { agent: 'boss', user: 'have not collected', says: 'Done, I say.', times: 3 },
    ]);
    const boss = await world.start('boss', 'Begin');
    const { lastOutput } = await world.until(boss, ({ status }) => status === 'completed');
    const { runId } = await theRun();
    expect(lastOutput).toContain(`Not collected: workflow:Paint ${runId} (cancelled)`);
    expect(await theRun()).toMatchObject({ status: 'aborted' });
  },
  SLOW_MS,
);

verifies('R-101').test(
  "a root's own depth binds what its runs start, whatever the agents there are allowed; workflows need the list",
  async () => {
    await open({
      ...AGENTS,
      boss: { ...BOSS, max_agent_depth: 1 },
      lead: { can_spawn_agents: true, max_agent_depth: 5 },
    });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'workflow:Other', prompt: 'x' })] },
      { ...RUN[0], agent: 'boss', user: 'Begin', tool: 'agent__spawn', result: 'agent_not_allowed' } as Line,
      { ...RUN[1], agent: 'boss', times: 'always' } as Line,
      { agent: 'boss', tool: 'agent__collect', result: 'Alone', says: 'So be it.' },
      ...LEAD.slice(0, 1),
      { agent: 'lead', tool: 'agent__spawn', result: 'agent_depth', says: 'Alone.\nSIGNAL:SUCCESS' },
    ]);
    const boss = await world.start('boss', 'Begin');
    expect(await world.until(boss, ({ status }) => status === 'completed')).toMatchObject({ lastOutput: 'So be it.' });
    const { jobs } = await world.client.call('status', {});
    expect(jobs.map(({ agent, maxDepth }) => [agent, maxDepth]).sort()).toEqual([
      ['native:boss', undefined],
      ['native:lead', 1],
    ]);
  },
  SLOW_MS,
);

verifies('X-08').test(
  'through its door a job ends and sees the runs below it; what a run asks is answered by people, and other runs are not its own',
  async () => {
    await open();
    world.play([
      ...RUN,
      { ...RUN[1], agent: 'boss', tool: 'agent__collect', times: 'always' } as Line,
      { agent: 'lead', user: 'Paint__Lead, visit', says: 'No.\nSIGNAL:FAILURE', times: 'always' },
    ]);
    const boss = await world.start('boss', 'Begin');
    const halt = await asked();
    const { runId } = await theRun();
    expect(halt).toMatchObject({ agent: 'workflow', jobId: runId, runId, block: 'Paint__Lead', path: [boss, runId] });
    const other = await world.client.call('run', { task: 'of a person', workflow: 'Paint' });
    const door = connect({ socket: join(jobSocketDir(world.home.sockets, boss), 'sock'), surface: 'mcp' });
    const seen = await door.call('inbox', {});
    const refused = [
      door.call('send', { id: runId, option: ['resume'] }),
      door.call('run_control', { id: runId, verb: 'resume' }),
      door.call('kill', { id: other.runId }),
      door.call('run_status', { id: other.runId }),
    ];
    expect([seen.questions.map(({ jobId }) => jobId), await Promise.all(refused.map(refusal))]).toEqual([
      [runId],
      ['not_yours', 'not_yours', 'not_yours', 'not_yours'],
    ]);
    expect(await door.call('kill', { id: runId })).toMatchObject({ agentId: runId, status: 'killed' });
    await eventually(
      () => door.call('run_status', { id: runId }),
      ({ runs }) => runs[0]?.status === 'aborted',
    );
  },
  SLOW_MS,
);
