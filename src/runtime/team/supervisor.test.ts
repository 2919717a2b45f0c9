import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openTeam, type Said } from '../../../test/support/runtime/team-world.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { TeamSupervisor } from './supervisor.ts';

const BOSS = { can_spawn_agents: true };
const never = new AbortController().signal;

/** A model that answers when the test says so. */
function held() {
  const waiting = new Map<string, (said: Said) => void>();
  return {
    answer: (word: string) => new Promise<Said>((resolve) => waiting.set(word, resolve)),
    async release(word: string, text: string): Promise<void> {
      await until(`${word} is asked`, () => waiting.has(word));
      waiting.get(word)?.({ text });
      waiting.delete(word);
    },
  };
}

verifies('D6', 'R-101').test('only agents at work count; the one too many hears how many there are', async () => {
  const model = held();
  await using team = await openTeam({ boss: { ...BOSS, max_concurrent_agents: 2 }, kid: {} }, ({ user }) =>
    model.answer(user),
  );
  const { supervisor } = await team.jobs.root('boss');
  const first = await supervisor.spawn({ agent: 'kid', prompt: 'a' });
  await supervisor.spawn({ agent: 'kid', prompt: 'b' });
  await expect(supervisor.spawn({ agent: 'kid', prompt: 'c' })).rejects.toMatchObject({
    code: 'agent_capacity',
    message: '2/2 agents are at work',
  });
  await model.release('a', 'done');
  expect(await supervisor.collect(first.id, never)).toMatchObject({ status: 'completed', output: 'done' });
  // A finished one takes no place, collected or not.
  await supervisor.spawn({ agent: 'kid', prompt: 'c' });
  expect(supervisor.running().map(({ task }) => task)).toEqual(['b', 'c']);
  await supervisor.cancelAll();
});

verifies('D4', 'R-101', 'R-105').test('claim and start are one step, however many come at once', async () => {
  const model = held();
  await using team = await openTeam({ boss: { ...BOSS, max_concurrent_agents: 3 }, kid: {} }, ({ user }) =>
    model.answer(user),
  );
  const { supervisor } = await team.jobs.root('boss');
  const asked = Array.from({ length: 8 }, (_, n) => supervisor.spawn({ agent: 'kid', prompt: String(n) }));
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  await supervisor.cancelAll();
  await supervisor.createTask({ subject: 'one' });
  const claims = await Promise.allSettled([
    supervisor.spawn({ agent: 'kid', prompt: 'x', task_id: '1' }),
    supervisor.spawn({ agent: 'kid', prompt: 'y', task_id: '1' }),
  ]);
  expect(claims.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(claims[1]).toMatchObject({
    reason: { code: 'task_invalid', message: 'Task 1 cannot be begun: it is in_progress' },
  });
  await supervisor.cancelAll();
});

verifies('R-101').test("the root's depth binds the whole tree, and agents outside the list are refused", async () => {
  const specs = {
    boss: { ...BOSS, max_agent_depth: 2, spawnable_agents: ['lead'] },
    lead: { ...BOSS, max_agent_depth: 9 },
  };
  const model = held();
  await using team = await openTeam(specs, ({ user }) => model.answer(user));
  const root = await team.jobs.root('boss');
  await expect(root.supervisor.spawn({ agent: 'claude', prompt: 'x' })).rejects.toMatchObject({
    code: 'agent_not_allowed',
    message: 'You may not start "claude"; you may start: lead',
  });
  const first = await team.jobs.job((await root.supervisor.spawn({ agent: 'native:lead', prompt: '1' })).id);
  // Without a list any agent of Reef's own will do, and nobody else's.
  await expect(first.supervisor.createTask({ subject: 's', agent: 'claude' })).rejects.toMatchObject({
    code: 'agent_not_allowed',
  });
  const second = await team.jobs.job((await first.supervisor.spawn({ agent: 'lead', prompt: '2' })).id);
  await expect(second.supervisor.spawn({ agent: 'lead', prompt: '3' })).rejects.toMatchObject({
    code: 'agent_depth',
    message: 'You are 2 deep and at most 2 are allowed',
  });
  expect([root, first, second].map(({ ctx }) => ctx.agentRuntime?.currentDepth)).toEqual([0, 1, 2]);
  await root.supervisor.cancelAll();
});

verifies('D3', 'D4', 'R-105', 'R-104').test(
  'a task with an agent is begun when it is made, one at capacity when a place is free, one that is blocked after those before it',
  async () => {
    const model = held();
    await using team = await openTeam({ boss: { ...BOSS, max_concurrent_agents: 1 }, kid: {} }, ({ user }) =>
      model.answer(user),
    );
    const { supervisor, inbox } = await team.jobs.root('boss');
    expect(await supervisor.createTask({ subject: 'a', agent: 'kid' })).toMatchObject({
      status: 'in_progress',
      job_id: 'JOB1',
    });
    expect(await supervisor.createTask({ subject: 'b', agent: 'kid' })).toMatchObject({ status: 'pending' });
    expect(await supervisor.createTask({ subject: 'c', agent: 'kid', blocked_by: ['2'] })).toMatchObject({
      status: 'blocked',
    });
    for (const subject of ['a', 'b', 'c']) await model.release(subject, `${subject} is done`);
    for (const id of team.jobs.started) await supervisor.collect(id, never);
    expect(supervisor.listTasks().map(({ status, job_id }) => [status, job_id])).toEqual([
      ['completed', 'JOB1'],
      ['completed', 'JOB2'],
      ['completed', 'JOB3'],
    ]);
    expect(inbox.drain().map(({ kind, from }) => [kind, from])).toEqual(
      ['JOB1', 'JOB2', 'JOB3'].map((id) => ['task_completed', id]),
    );
  },
);

verifies('D4', 'R-105').test(
  'an agent that fails fails its task, and what waits for it stays blocked and says why',
  async () => {
    await using team = await openTeam({ boss: BOSS, kid: {} }, () => Promise.reject(new Error('out of words')));
    const { supervisor } = await team.jobs.root('boss');
    await supervisor.createTask({ subject: 'a', agent: 'kid' });
    await supervisor.createTask({ subject: 'b', agent: 'kid', blocked_by: ['1'] });
    expect(await supervisor.collect('kid', never)).toMatchObject({
      status: 'failed',
      exit_status: 'internal: out of words',
    });
    expect(supervisor.listTasks().map(({ status, reason }) => [status, reason])).toEqual([
      ['failed', 'kid failed: internal: out of words'],
      ['blocked', 'task 1 failed: kid failed: internal: out of words'],
    ]);
  },
);

verifies('D12', 'R-103').test(
  'cancel ends all below and comes back when they have ended; what was said stays',
  async () => {
    const model = held();
    await using team = await openTeam({ boss: BOSS, lead: BOSS, kid: {} }, ({ user }) => model.answer(user));
    const root = await team.jobs.root('boss');
    const lead = await team.jobs.job((await root.supervisor.spawn({ agent: 'lead', prompt: 'l' })).id);
    await lead.supervisor.spawn({ agent: 'kid', prompt: 'k' });
    const kid = await team.jobs.job(team.jobs.started[1] ?? '');
    const waits = root.supervisor.collect('lead', never);
    const cancelled = await root.supervisor.cancel('lead');
    expect([cancelled, root.supervisor.running(), lead.supervisor.running()]).toMatchObject([
      { id: lead.id, status: 'cancelled', exit_status: 'internal: This operation was aborted' },
      [],
      [],
    ]);
    expect(await waits).toMatchObject({ status: 'cancelled' });
    expect(lead.supervisor.list()).toMatchObject([{ id: kid.id, status: 'cancelled' }]);
    expect(root.supervisor.uncollected()).toEqual([]);
    await expect(root.supervisor.send('lead', { kind: 'text', from: 'x', text: 'y' })).rejects.toMatchObject({
      code: 'job_ended',
    });
  },
);

verifies('R-103').test(
  'check takes the result of one that is done; a long one is summarised and lies in a file',
  async () => {
    const long = 'found it. '.repeat(500);
    const model = held();
    await using team = await openTeam(
      { boss: { ...BOSS, summarization_model: 'fake:two' }, kid: {} },
      ({ user, request, agent }) => {
        if (agent === 'kid') return model.answer(user);
        expect([request.model.id, user.length > 5000]).toEqual(['fake:two', true]);
        return { text: 'It was found.' };
      },
    );
    const { supervisor } = await team.jobs.root('boss');
    const { id } = await supervisor.spawn({ agent: 'kid', prompt: 'find' });
    expect(await supervisor.check(id, never)).toEqual({ id, agent: 'kid', status: 'running', last_output: '' });
    await model.release('find', long);
    await supervisor.collect(id, never);
    const taken = await supervisor.check(id.slice(0, 4), never);
    expect(taken).toMatchObject({ status: 'completed', exit_status: '0', output: 'It was found.' });
    expect(readFileSync((taken as { full_output: string }).full_output, 'utf8')).toBe(long);
    expect(supervisor.uncollected()).toEqual([]);
  },
);

test('an agent is found by id, a beginning of it, @last, or a name that only one has', async () => {
  const model = held();
  await using team = await openTeam({ boss: BOSS, kid: {}, other: {} }, ({ user }) => model.answer(user));
  const { supervisor } = await team.jobs.root('boss');
  for (const agent of ['kid', 'kid', 'other']) await supervisor.spawn({ agent, prompt: agent });
  const found = await Promise.all(['JOB1', '@last', 'other', 'job2'].map((name) => supervisor.check(name, never)));
  expect(found.map(({ id }) => id)).toEqual(['JOB1', 'JOB3', 'JOB3', 'JOB2']);
  await expect(supervisor.check('kid', never)).rejects.toMatchObject({
    message: 'Several agents are meant by "kid"; yours are: JOB1 (kid), JOB2 (kid), JOB3 (other)',
  });
  await expect(supervisor.check('nobody', never)).rejects.toMatchObject({ code: 'job_not_found' });
  await supervisor.cancelAll();
});

test('a child that can no longer be followed counts as failed, and its parent goes on', async () => {
  await using team = await openTeam({ boss: BOSS, kid: {} }, () => ({ text: 'x' }));
  const root = await team.jobs.root('boss');
  const { spec } = root.ctx.agentRuntime ?? {};
  if (!spec) return expect.unreachable();
  const gone = () => Promise.reject(new Error('the daemon is gone'));
  const jobs = { spawn: async () => 'J', ended: gone, look: gone, attend: gone, reply: gone, send: gone, kill: gone };
  const parts = { spec, selfId: 'S', depth: 0, maxDepth: 1, cwd: '/', jobs, inbox: root.inbox };
  const supervisor = new TeamSupervisor({ ...parts, isNative: () => true, summarise: gone });
  await supervisor.spawn({ agent: 'kid', prompt: 'x' });
  const end = { id: 'J', agent: 'kid', status: 'failed', exit_status: 'the daemon is gone', output: '' };
  await expect.poll(() => supervisor.running()).toEqual([]);
  expect(await supervisor.check('kid', never)).toEqual(end);
});
