import { expect } from 'vitest';
import { call, openTeam, type Seen } from '../../../test/support/runtime/team-world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';

const BOSS = { can_spawn_agents: true };
const never = new AbortController().signal;
const ASK = call('user__ask', { question: 'Red or blue?', options: ['red', 'blue'] });

/** Leads hand on, the last one asks; whoever got a result says it. */
function chain({ agent, results }: Seen) {
  const [result] = Object.values(results);
  if (result !== undefined && agent === 'hand') return { text: result };
  return { calls: [ASK] };
}

verifies('D1', 'R-102').test(
  'collect comes back with a question from two levels below, once; the next collect waits; the first answer wins',
  async () => {
    await using team = await openTeam({ boss: BOSS, lead: BOSS, hand: {} }, (seen) => {
      if (seen.agent !== 'lead') return chain(seen);
      if (seen.results.agent__collect?.includes('"completed"')) return { text: 'The lead is content.' };
      const isStarted = Object.keys(seen.results).length > 0;
      return {
        calls: [
          isStarted ? call('agent__collect', { id: 'hand' }) : call('agent__spawn', { agent: 'hand', prompt: 'paint' }),
        ],
      };
    });
    const { supervisor } = await team.jobs.root('boss');
    const lead = await supervisor.spawn({ agent: 'lead', prompt: 'lead' });
    const asked = await supervisor.collect('lead', never);
    const hand = team.jobs.started[1] ?? '';
    const path = ['ROOT-BOSS', lead.id, hand];
    const options = ['red', 'blue', 'Other (custom)'];
    const pending = {
      id: `${hand}:q1`,
      job_id: hand,
      agent: 'hand',
      path,
      kind: 'choice',
      question: 'Red or blue?',
      options,
    };
    expect(asked).toEqual({
      status: 'pending_escalations',
      id: lead.id,
      agent: 'lead',
      pending_escalations: [pending],
    });
    expect(team.jobs.escalations.below('ROOT-BOSS')).toEqual([pending]);

    const again = supervisor.collect('lead', never);
    await supervisor.reply(`${hand}:q1`, 'blue');
    await expect(supervisor.reply(`${hand}:q1`, 'red')).rejects.toMatchObject({ code: 'question_not_found' });
    expect(await again).toMatchObject({ status: 'completed', output: 'The lead is content.' });
    expect(team.jobs.withdrawn).toEqual([`${hand}:q1 by ROOT-BOSS`]);
  },
);

verifies('R-102').test('a person who is first wins over the parent', async () => {
  await using team = await openTeam({ boss: BOSS, hand: {} }, chain);
  const { supervisor } = await team.jobs.root('boss');
  await supervisor.spawn({ agent: 'hand', prompt: 'paint' });
  await supervisor.collect('hand', never);
  team.jobs.answer('JOB1:q1', { kind: 'choice', choice: 'red' });
  expect(await supervisor.collect('hand', never)).toMatchObject({ output: JSON.stringify({ answer: 'red' }) });
  await expect(supervisor.reply('JOB1:q1', 'blue')).rejects.toMatchObject({ code: 'question_not_found' });
  expect(team.jobs.withdrawn).toEqual([]);
});

verifies('R-102').test('a child that nobody answers is told to decide for itself; a root waits', async () => {
  await using team = await openTeam(
    { boss: { ...BOSS, escalation_timeout: 0.02 }, hand: { escalation_timeout: 0.02 } },
    chain,
  );
  const root = await team.jobs.root('boss');
  await root.supervisor.spawn({ agent: 'hand', prompt: 'paint' });
  let end = await root.supervisor.collect('hand', never);
  while (end.status === 'pending_escalations') end = await root.supervisor.collect('hand', never);
  expect(JSON.parse(end.output)).toEqual({
    error: 'Nobody answered within 0 s',
    fallback: 'Decide yourself, carefully, and say in your answer what you decided.',
  });
  expect(team.jobs.withdrawn).toEqual(['JOB1:q1 by timeout']);
  const stop = new AbortController();
  const asking = root.tell('ask', stop.signal);
  const isAsked = () => team.jobs.escalations.below('ROOT-BOSS').length > 0;
  await until('it is asked', isAsked);
  await expect
    .poll(() => root.ctx.agentRuntime?.escalationQueue.open())
    .toEqual([{ id: 'ROOT-BOSS:q2', question: 'Red or blue?' }]);
  stop.abort();
  await expect(asking).rejects.toMatchObject({ code: 'cancelled' });
  expect(team.jobs.escalations.below('ROOT-BOSS')).toEqual([]);
});

verifies('R-102').test('every kind of question takes a word of the parent, but a permission takes none', async () => {
  await using team = await openTeam({ boss: BOSS, hand: {} }, chain);
  const root = await team.jobs.root('boss');
  const { escalationQueue } = root.ctx.agentRuntime ?? {};
  const reply = async (question: Parameters<NonNullable<typeof escalationQueue>['ask']>[0], text: string) => {
    const answer = escalationQueue?.ask(question, never);
    const [open] = team.jobs.escalations.below('ROOT-BOSS');
    team.jobs.escalations.reply(open?.id ?? '', text, 'JOB0');
    return answer;
  };
  const question = 'q';
  expect([
    await reply({ kind: 'choice', question, options: ['a'] }, 'a'),
    await reply({ kind: 'choices', question, options: ['a', 'b'] }, 'a, b'),
    await reply({ kind: 'confirm', question }, 'Yes.'),
    await reply({ kind: 'confirm', question }, 'rather not'),
    await reply({ kind: 'input', question }, 'words'),
  ]).toEqual([
    { kind: 'choice', choice: 'a' },
    { kind: 'choices', choices: ['a', 'b'] },
    { kind: 'confirm', confirmed: true },
    { kind: 'confirm', confirmed: false },
    { kind: 'input', text: 'words' },
  ]);
  const permission = { kind: 'permission', question, tool: 't', arguments: {}, cwd: '/', reasons: [] } as const;
  await expect(reply(permission, 'yes')).rejects.toMatchObject({ code: 'not_yours' });
});
