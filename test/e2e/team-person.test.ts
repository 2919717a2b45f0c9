import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { readEnvironment } from '../../src/base/env.ts';
import { openClient } from '../../src/surfaces/client/client.ts';
import { deadline } from '../support/scale.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { gone, SLOW_MS } from './real.ts';
import { call, DEEP, FAMILY, type Line, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const NAMES = ['one', 'two', 'three'];
const THREE: Line[] = [
  {
    agent: 'boss',
    user: 'Split',
    does: NAMES.map((agent) => call('agent__spawn', { agent, prompt: `Do your part, ${agent}` })),
  },
  { agent: 'boss', tool: 'agent__spawn', does: NAMES.map((id) => call('agent__collect', { id })) },
  { agent: 'boss', tool: 'agent__collect', says: 'All three are done.' },
  ...NAMES.map((agent) => ({ agent, user: 'Do your part', says: `Part ${agent} is done.` })),
];

verifies('R-08', 'R-100', 'R-101').test(
  'ask with three children: jobs of the daemon below a root of depth 0, which count against it, and nothing is left',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, one: {}, two: {}, three: {} });
    world.play(THREE);
    const { stdout, stderr, code } = await world.begin(['ask', '-a', 'boss', 'Split this work in three']).done;
    expect([stdout, code], stderr).toEqual(['All three are done.\n', 0]);
    const { jobs } = await world.client.call('status', {});
    const root = jobs.find(({ agent }) => agent === 'chat:boss');
    expect(root).toMatchObject({ status: 'completed', depth: 0, task: 'Split this work in three', turns: 3 });
    const children = jobs.filter(({ parentId }) => parentId === root?.id);
    expect(children.map(({ agent, status, depth, lastOutput }) => [agent, status, depth, lastOutput]).sort()).toEqual(
      NAMES.map((name) => [`native:${name}`, 'completed', 1, `Part ${name} is done.`]).sort(),
    );
    await gone(...jobs.map(({ id }) => id));
  },
  SLOW_MS,
);

verifies('R-08').test(
  'an agent that starts nobody needs no daemon; outside a repository its children live in a home of the user',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: {} });
    world.play([
      { agent: 'boss', user: 'Alone', says: 'I am alone.' },
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', says: 'It is done.' },
      { agent: 'hand', user: 'Do it', says: 'Done.' },
    ]);
    expect(await world.begin(['ask', '-a', 'boss', 'Alone']).done).toMatchObject({ stdout: 'I am alone.\n', code: 0 });
    expect(await world.client.daemon()).toBe(undefined);

    const elsewhere = temporaryFolder(world.root);
    const said = await world.begin(['ask', '-a', 'boss', 'Begin'], elsewhere).done;
    const home = join(world.root, 'user', '.local', 'state', 'reef');
    expect([said.stdout, said.code], said.stderr).toEqual(['It is done.\n', 0]);
    expect(said.stderr).toContain(`REEF_HOME=${home} reef ps`);
    const env = readEnvironment({ ...world.env, REEF_HOME: home });
    const client = openClient({ env, cwd: elsewhere, surface: 'cli' });
    try {
      const { jobs } = await client.call('status', {});
      expect(jobs.map(({ agent, cwd }) => [agent, cwd]).sort()).toEqual([
        ['chat:boss', elsewhere],
        ['native:hand', elsewhere],
      ]);
      await gone(...jobs.map(({ id }) => id));
    } finally {
      await client.stop(true);
    }
  },
  SLOW_MS,
);

verifies('R-08', 'R-102').test(
  'a reply to nobody is an error to the agent that gives it, and starts nothing',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true } });
    const reply = call('agent__reply_escalation', { escalation_id: 'hand', reply: 'red' });
    world.play([
      { agent: 'boss', user: 'Begin', does: [reply] },
      { agent: 'boss', tool: 'agent__reply_escalation', result: 'question_not_found', says: 'Nobody asked.' },
    ]);
    const { stdout, stderr, code } = await world.begin(['ask', '-a', 'boss', 'Begin']).done;
    expect([stdout, code], stderr).toEqual(['Nobody asked.\n', 0]);
    expect(await world.client.daemon()).toBe(undefined);
  },
  SLOW_MS,
);

verifies('R-102', 'D1').test(
  'ask tells on stderr what a grandchild asks, with its chain and how it is answered, and goes on with the answer',
  async () => {
    world = teamWorld(FAMILY);
    world.play(DEEP);
    const asking = world.begin(['ask', '-a', 'boss', 'Begin']);
    const told = await eventually(
      () => asking.said.stderr,
      (text) => text.includes('Red or blue?'),
    );
    const shownAt = Date.now();
    const root = await world.chatJob('boss');
    const lead = await world.child(root.id, 'lead');
    const hand = await world.child(lead.id, 'hand');
    // The agent waits, so the last thing it wrote is its question.
    const askedAt = statSync(join(world.home.dir, 'jobs', hand.id, '1', 'out')).mtimeMs;
    expect(shownAt - askedAt).toBeLessThan(deadline(1_000));
    expect(told).toContain('boss › lead › hand asks:');
    expect(told).toContain(`reef send ${hand.id} --question `);
    const { questions } = await world.client.call('inbox', {});
    expect(questions.map(({ jobId, path }) => [jobId, path])).toEqual([[hand.id, [root.id, lead.id, hand.id]]]);
    await world.client.call('send', { id: hand.id, option: ['blue'] });
    const { stdout, stderr, code } = await asking.done;
    expect([stdout, code], stderr).toEqual(['All is painted.\n', 0]);
    expect((await world.results(hand.id)).map((text) => JSON.parse(text))).toEqual([{ answer: 'blue' }]);
    await gone(root.id, lead.id, hand.id);
  },
  SLOW_MS,
);

verifies('R-102', 'U-02').test(
  'headless, a question of anybody in the family ends ask with exit 3 and the question itself, and ends them all',
  async () => {
    world = teamWorld(FAMILY);
    world.play(DEEP);
    const said = await world.begin(['ask', '-a', 'boss', '--headless', '--json', 'Begin']).done;
    expect(said.code, said.stderr).toBe(3);
    expect(JSON.parse(said.stdout || said.stderr)).toMatchObject({
      error: {
        code: 'needs_human',
        message: expect.stringContaining('boss › lead › hand'),
        details: {
          needs_human: true,
          action: 'choice',
          question: 'Red or blue?',
          options: ['red', 'blue', expect.any(String)],
        },
      },
    });
    const { jobs } = await world.client.call('status', {});
    expect(jobs.map(({ agent, status }) => [agent, status]).sort()).toEqual([
      ['chat:boss', 'killed'],
      ['native:hand', 'killed'],
      ['native:lead', 'killed'],
    ]);
    await gone(...jobs.map(({ id }) => id));
  },
  SLOW_MS,
);

/** With somebody else's program at the bottom, which no host of ours carries. */
async function withStranger() {
  const script = world.stranger('boss');
  world.play([
    {
      ...{ agent: 'boss', user: 'Begin' },
      does: [
        call('agent__spawn', { agent: 'lead', prompt: 'Lead it' }),
        call('agent__spawn', { agent: script, prompt: 'Be there' }),
      ],
    },
    ...DEEP.slice(1),
  ]);
  const asking = world.begin(['ask', '-a', 'boss', 'Begin']);
  const root = await world.chatJob('boss');
  const lead = await world.child(root.id, 'lead');
  const hand = await world.child(lead.id, 'hand');
  const stranger = await world.child(root.id, script);
  await world.until(hand.id, ({ questions }) => questions.length > 0);
  await world.until(stranger.id, ({ lastOutput }) => lastOutput === 'Here.');
  return { asking, root, ids: [root, lead, hand, stranger].map(({ id }) => id) };
}

const overAll = (ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await world.until(id, ({ endedAt }) => endedAt !== undefined)).status));

verifies('R-08', 'A-81').test(
  'an ask that is killed leaves no job of its family behind, of Reef or of others',
  async () => {
    world = teamWorld(FAMILY);
    const { asking, ids } = await withStranger();
    asking.process.kill('SIGKILL');
    await asking.done;
    expect(await overAll(ids)).not.toContain('completed');
    await gone(...ids);
    expect((await world.client.call('inbox', {})).questions).toEqual([]);
  },
  SLOW_MS,
);

verifies('R-08', 'R-73').test(
  'an ask that is interrupted ends its family before itself, and one whose job is killed elsewhere ends with it',
  async () => {
    world = teamWorld(FAMILY);
    const first = await withStranger();
    first.asking.process.kill('SIGINT');
    expect((await first.asking.done).code).toBe(130);
    expect(await overAll(first.ids)).toEqual(['killed', 'killed', 'killed', 'killed']);

    // The kill finds it at its last word, which those below it, ended before it, brought it to.
    world.play(DEEP.map((line) => (line.says === 'All is painted.' ? { ...line, delay_ms: 60_000 } : line)));
    const second = world.begin(['ask', '-a', 'boss', 'Begin']);
    const root = await eventually(
      async () =>
        (await world.client.call('status', {})).jobs.find(
          ({ agent, status }) => agent === 'chat:boss' && status !== 'killed',
        ),
      (found) => found !== undefined,
    );
    const lead = await world.child(root?.id ?? '', 'lead');
    const hand = await world.child(lead.id, 'hand');
    await world.until(hand.id, ({ questions }) => questions.length > 0);
    await world.client.call('kill', { id: root?.id ?? '' });
    const said = await second.done;
    expect([said.stdout, said.code], said.stderr).toEqual(['', 1]);
    expect(said.stderr).toContain('was ended from elsewhere');
    await gone(...first.ids, root?.id ?? '', lead.id, hand.id);
  },
  SLOW_MS,
);

verifies('R-08', 'U-02').test(
  'an ask that fails with a child under way says why it failed, not that it was ended',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: {} });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'hand', user: 'Do it', says: 'Done.', delay_ms: 60_000 },
    ]);
    const said = await world.begin(['ask', '-a', 'boss', '--json', 'Begin']).done;
    expect(JSON.parse(said.stdout || said.stderr).error.code, said.stderr).toBe('script_exhausted');
    const { jobs } = await world.client.call('status', {});
    expect(jobs.map(({ agent, status }) => [agent, status]).sort()).toEqual([
      ['chat:boss', 'error'],
      ['native:hand', 'killed'],
    ]);
  },
  SLOW_MS,
);

verifies('R-08', 'A-80').test(
  'where all places are taken ask says so and waits; with one place it lends its own to what it waits for',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: {} }, { reef: { max_jobs: 1 } });
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', says: 'It is done.' },
      { agent: 'hand', user: 'Do it', says: 'Done.' },
    ]);
    const busy = world.script('busy', [{ say: 'Here.' }, { sleep: 600_000 }]);
    const { agentId } = await world.client.call('spawn', { agent: busy, task: 'Be in the way' });
    await world.until(agentId, ({ lastOutput }) => lastOutput === 'Here.');
    const asking = world.begin(['ask', '-a', 'boss', 'Begin']);
    await eventually(
      () => asking.said.stderr,
      (text) => text.includes('All slots for jobs are taken'),
    );
    await world.client.call('kill', { id: agentId });
    const { stdout, stderr, code } = await asking.done;
    expect([stdout, code], stderr).toEqual(['It is done.\n', 0]);
  },
  SLOW_MS,
);

verifies('R-08').test(
  'a daemon that is killed while somebody waits for a family costs nobody anything',
  async () => {
    world = teamWorld(FAMILY);
    world.play(DEEP);
    const asking = world.begin(['ask', '-a', 'boss', 'Begin']);
    await eventually(
      () => asking.said.stderr,
      (text) => text.includes('Red or blue?'),
    );
    await world.killDaemon();
    const [asked] = await eventually(
      async () => (await world.client.call('inbox', {})).questions,
      (questions) => questions.length > 0,
    );
    await world.client.call('send', { id: asked?.jobId ?? '', option: ['red'] });
    const { stdout, stderr, code } = await asking.done;
    expect([stdout, code], stderr).toEqual(['All is painted.\n', 0]);
    expect(stderr.split('Red or blue?').length).toBe(2);
  },
  SLOW_MS,
);
