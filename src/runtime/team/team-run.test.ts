import { expect } from 'vitest';
import { call, openTeam, type Said } from '../../../test/support/runtime/team-world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { type Message, textOf, userText } from '../models/message.ts';

const BOSS = { can_spawn_agents: true };
const never = new AbortController().signal;

verifies('R-106').test(
  'a message comes in at the next step, in its place in the history, from parent, child and sibling',
  async () => {
    const written = Promise.withResolvers<void>();
    await using team = await openTeam({ boss: BOSS, kid: {} }, async ({ agent, user, results }) => {
      if (agent === 'kid' && !results.agent__list) {
        await written.promise;
        return { calls: [call('agent__list')] };
      }
      if (user === 'look' && !results.agent__list) return { calls: [call('agent__list')] };
      return { text: user };
    });
    const root = await team.jobs.root('boss');
    const [ann, bob] = await Promise.all(
      ['JOB1', 'JOB2'].map(async (_, n) => {
        const { id } = await root.supervisor.spawn({ agent: 'kid', prompt: `wait ${n}` });
        return team.jobs.job(id);
      }),
    );
    if (!ann || !bob) return expect.unreachable();
    const text = (from: string, words: string) => ({ kind: 'text' as const, from, text: words });
    await root.supervisor.send('JOB1', text('ROOT-BOSS', 'from above'));
    await ann.supervisor.send('JOB2', text('JOB1', 'from beside'));
    await ann.supervisor.send('parent', text('JOB1', 'from below'));
    await bob.supervisor.send('ROOT-BOSS', text('JOB2', 'from below too'));
    root.inbox.deliver({ kind: 'task_completed', from: 'JOB9', text: 'Task 1 is completed' });
    written.resolve();
    const ends = [await root.supervisor.collect('JOB1', never), await root.supervisor.collect('JOB2', never)];
    expect(ends.map((end) => 'output' in end && end.output)).toEqual([
      '[Message, from ROOT-BOSS]\nfrom above',
      '[Message, from JOB1]\nfrom beside',
    ]);
    await root.tell('look');
    const kept = root.ctx.session?.messages.map((message) => [message.role, textOf(message)]);
    expect(kept?.slice(0, 2)).toEqual([
      ['user', 'look'],
      [
        'user',
        '[A task ended, from JOB9]\nTask 1 is completed\n\n[Message, from JOB1]\nfrom below\n\n[Message, from JOB2]\nfrom below too',
      ],
    ]);
    await expect(root.supervisor.send('JOB1', text('x', 'y'))).rejects.toMatchObject({ code: 'job_ended' });
  },
);

verifies('R-106').test(
  'a message between two steps stands between them, and what comes at the end makes a turn of its own',
  async () => {
    await using team = await openTeam({ boss: BOSS, kid: {} }, async ({ n, user }): Promise<Said> => {
      const root = await rooted;
      if (n === 0) {
        root.inbox.deliver({ kind: 'text', from: 'A', text: 'in the middle' });
        return { calls: [call('agent__task_list')] };
      }
      if (n === 1) root.inbox.deliver({ kind: 'text', from: 'B', text: 'at the end' });
      return { text: `heard ${user}` };
    });
    const rooted = team.jobs.root('boss');
    const root = await rooted;
    expect(await root.tell('go')).toBe('heard [Message, from B]\nat the end');
    expect(root.ctx.session?.messages.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'tool', 'user', 'assistant'],
      ...['user', 'assistant'],
    ]);
  },
);

verifies('R-107').test(
  'a turn that ends over its children is asked three times, then they are cancelled and named',
  async () => {
    const { promise: hangs } = Promise.withResolvers<Said>();
    await using team = await openTeam({ boss: BOSS, kid: {}, quick: {} }, async ({ agent, n }) => {
      if (agent === 'kid') return hangs;
      if (agent === 'quick') return { text: 'quick' };
      if (n > 0) {
        await expect.poll(() => root.supervisor.running().map((child) => child.agent)).toEqual(['kid']);
        return { text: `I am done (${n}).` };
      }
      return {
        calls: [
          call('agent__spawn', { agent: 'kid', prompt: 'k' }),
          call('agent__spawn', { agent: 'quick', prompt: 'q' }),
        ],
      };
    });
    const root = await team.jobs.root('boss');
    const answer = await root.tell('go');
    expect(answer).toBe('I am done (4).\n\nNot collected: kid JOB1 (cancelled), quick JOB2 (completed).');
    const asked = team.requests
      .filter(({ agent }) => agent === 'boss')
      .map(({ messages }) => textOf(messages.at(-1) ?? { role: 'system', content: '' }));
    expect(asked.filter((text) => text.includes('have not collected their results'))).toEqual(
      Array(3).fill(expect.stringContaining('- JOB1 (kid): running')),
    );
    expect(root.events.filter(({ type }) => type === 'auto_continue_triggered')).toHaveLength(3);
    expect(root.supervisor.uncollected()).toEqual([]);
  },
);

verifies('R-107').test('one that collects when asked ends as it wants to', async () => {
  await using team = await openTeam({ boss: BOSS, kid: {} }, ({ agent, results, user }) => {
    if (agent === 'kid') return { text: 'from the kid' };
    if (user.includes('have not collected'))
      return results.agent__collect
        ? { text: results.agent__collect }
        : { calls: [call('agent__collect', { id: 'kid' })] };
    return results.agent__spawn ? { text: 'Done.' } : { calls: [call('agent__spawn', { agent: 'kid', prompt: 'k' })] };
  });
  const root = await team.jobs.root('boss');
  expect(JSON.parse(await root.tell('go'))).toEqual({
    ...{ id: 'JOB1', agent: 'kid', status: 'completed', exit_status: '0', output: 'from the kid' },
  });
});

verifies('R-107', 'R-65').test('running children are among the facts of a compressed prompt', async () => {
  const { promise: hangs } = Promise.withResolvers<Said>();
  await using team = await openTeam({ boss: { ...BOSS, compression_threshold: 50 }, kid: {} }, ({ agent }) =>
    agent === 'kid' ? hangs : { text: 'Many words about nothing at all. '.repeat(20) },
  );
  const root = await team.jobs.root('boss');
  await root.tell('first');
  await root.tell('second');
  await root.supervisor.spawn({ agent: 'kid', prompt: 'dig here' });
  await root.tell('third');
  const isThird = ({ messages }: { messages: readonly Message[] }) =>
    textOf(messages.at(-1) ?? userText('')) === 'third';
  const shown = team.requests.find(isThird)?.messages.map(textOf).join('\n');
  expect(shown).toContain('JOB1');
  expect(shown).toContain('dig here');
});

verifies('R-108').test(
  'an agent goes on by itself while things are open, counts, and begins anew with a line of the person',
  async () => {
    await using team = await openTeam(
      { boss: { auto_continue: true, max_auto_continues: 2, continuation_prompt: 'On!' }, plain: {} },
      ({ n, user }) => {
        if (n === 0)
          return {
            calls: [
              call('todo__init', { goal: 'G' }),
              call('todo__add', { task: 'a' }),
              call('todo__add', { task: 'b' }),
              call('todo__done', { id: 1 }),
            ],
          };
        return { text: `${n}: ${user}` };
      },
    );
    const root = await team.jobs.root('boss');
    const prompt = 'On!\n\nGoal: G\nProgress: 1/2 completed\n✓ 1. a\n○ 2. b';
    expect(await root.tell('go')).toBe(`3: ${prompt}`);
    expect(root.events.filter(({ type }) => type === 'auto_continue_triggered')).toEqual([
      { type: 'auto_continue_triggered', count: 1, max: 2 },
      { type: 'auto_continue_triggered', count: 2, max: 2 },
    ]);
    await root.tell('again');
    expect(root.events.filter(({ type }) => type === 'auto_continue_triggered')).toHaveLength(4);
    const plain = await team.jobs.root('plain');
    expect([plain.ctx.agentRuntime?.todoList, root.ctx.agentRuntime?.todoList?.render().split('\n')[0]]).toEqual([
      undefined,
      'Goal: G',
    ]);
    expect(plain.ctx.toolScope.functions.find('todo__init')).toBe(undefined);
  },
);

verifies('D8', 'R-108').test('an answer that only repeats the last one stops it', async () => {
  await using team = await openTeam({ boss: { auto_continue: true } }, ({ n }) =>
    n === 0 ? { calls: [call('todo__init', { goal: 'G' }), call('todo__add', { task: 'a' })] } : { text: 'I cannot.' },
  );
  const root = await team.jobs.root('boss');
  expect(await root.tell('go')).toBe('I cannot.');
  expect(root.events.filter(({ type }) => type === 'auto_continue_triggered')).toHaveLength(1);
});

verifies('D12', 'R-100').test('a child is run by the same engine: it goes on by itself and is compressed', async () => {
  const words = 'Many words about nothing at all. '.repeat(20);
  await using team = await openTeam(
    { boss: BOSS, kid: { auto_continue: true, max_auto_continues: 3, compression_threshold: 50 } },
    ({ agent, n }) => {
      if (agent === 'kid' && n === 0)
        return { calls: [call('todo__init', { goal: 'G' }), call('todo__add', { task: 'a' })] };
      return { text: `${n} ${words}` };
    },
  );
  const root = await team.jobs.root('boss');
  await root.supervisor.spawn({ agent: 'kid', prompt: 'work' });
  const kid = await team.jobs.job('JOB1');
  await root.supervisor.collect('kid', never);
  const types = kid.events.map(({ type }) => type);
  expect(types.filter((type) => type === 'auto_continue_triggered')).toHaveLength(3);
  expect(types).toContain('session_compressed');
});
