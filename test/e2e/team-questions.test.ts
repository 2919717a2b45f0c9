import { execFileSync } from 'node:child_process';
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { deadline } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { processesWith, SLOW_MS } from './real.ts';
import { call, type Line, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const AGENTS = {
  boss: { can_spawn_agents: true },
  lead: { can_spawn_agents: true },
  hand: {},
};
const DOWN: Line[] = [
  { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'lead', prompt: 'Lead it' })] },
  { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'lead' })] },
  { agent: 'lead', user: 'Lead it', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
  { agent: 'lead', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
  { agent: 'hand', user: 'Do it', does: [call('user__ask', { question: 'Red or blue?', options: ['red', 'blue'] })] },
  { agent: 'hand', tool: 'user__ask', says: 'It is painted.' },
];

verifies('D1', 'R-102', 'R-100', 'R-103', 'R-134', 'R-08').test(
  'a question of a grandchild is in the inbox with its path, nobody hangs, and the answer goes down and the result up',
  async () => {
    world = teamWorld(AGENTS);
    world.play([
      ...DOWN,
      // Both parents come back at once with what is asked below them, and wait on.
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__collect', { id: 'lead' })] },
      { agent: 'lead', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'lead', tool: 'agent__collect', says: 'The hand has painted.' },
      { agent: 'boss', tool: 'agent__collect', says: 'All is painted.' },
    ]);
    const boss = await world.start('boss', 'Begin');
    const lead = await world.child(boss, 'lead');
    const hand = await world.child(lead.id, 'hand');
    const { questions } = await eventually(
      () => world.client.call('inbox', {}),
      (inbox) => inbox.questions.length > 0,
    );
    // The agent waits, so the last thing it wrote is its question.
    const askedAt = statSync(join(world.home.dir, 'jobs', hand.id, '1', 'out')).mtimeMs;
    expect(Date.now() - askedAt).toBeLessThan(deadline(1_000));
    expect(questions.map(({ jobId }) => jobId)).toEqual([hand.id]);
    // All three are contexts of one host.
    const hosts = [boss, lead.id, hand.id].map((id) => realpathSync(join(world.home.sockets, id, 'host')));
    expect(new Set(hosts).size).toBe(1);
    const listed = execFileSync(join(import.meta.dirname, '../../bin/reef.cjs'), ['inbox', '--json'], {
      cwd: world.repository,
      env: world.env,
      encoding: 'utf8',
    });
    expect(JSON.parse(listed)).toMatchObject({
      questions: [
        { question: 'Red or blue?', path: [boss, lead.id, hand.id], options: ['red', 'blue', 'Other (custom)'] },
      ],
    });
    const [told] = await eventually(
      () => world.results(boss).then((all) => all.filter((text) => text.includes('pending_escalations'))),
      (all) => all.length > 0,
    );
    expect(JSON.parse(told ?? '')).toMatchObject({
      status: 'pending_escalations',
      id: lead.id,
      pending_escalations: [{ job_id: hand.id, question: 'Red or blue?', path: [boss, lead.id, hand.id] }],
    });
    await world.client.call('send', { id: hand.id, option: ['blue'] });
    expect(await world.until(boss, ({ status }) => status === 'completed')).toMatchObject({
      lastOutput: 'All is painted.',
    });
    expect((await world.results(hand.id)).map((text) => JSON.parse(text))).toEqual([{ answer: 'blue' }]);
    expect(JSON.parse((await world.results(boss)).at(-1) ?? '')).toEqual({
      ...{ id: lead.id, agent: 'lead', status: 'completed', exit_status: '0', output: 'The hand has painted.' },
    });
    expect(await world.job(hand.id)).toMatchObject({ status: 'completed', depth: 2, rootId: boss, parentId: lead.id });
    await eventually(
      () => processesWith(boss, lead.id, hand.id),
      (left) => left.length === 0,
    );
  },
  SLOW_MS,
);

verifies('R-102').test(
  'questions of a parent and its child stand side by side, and a permission of the child is for the person',
  async () => {
    world = teamWorld(
      { boss: { can_spawn_agents: true }, hand: { global_tools: ['execute_command'] } },
      { reef: { permissions: [] } },
    );
    world.play([
      { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'hand', user: 'Do it', does: [call('user__confirm', { question: 'Shall I?' })] },
      { agent: 'hand', tool: 'user__confirm', does: [call('execute_command', { command: 'touch done.txt' })] },
      { agent: 'hand', tool: 'execute_command', says: 'I was not allowed to.' },
      { agent: 'boss', tool: 'agent__collect', does: [call('user__input', { question: 'What is its id?' })] },
      { agent: 'boss', tool: 'user__input', says: 'No.' },
      { agent: 'boss', user: 'have not collected', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'boss', tool: 'agent__collect', says: 'Over.' },
    ]);
    const boss = await world.start('boss', 'Begin');
    const hand = await world.child(boss, 'hand');
    await world.until(hand.id, ({ questions }) => questions.length > 0);
    await world.until(boss, ({ questions }) => questions.length > 0);
    // Two questions of one family, each with its own job, neither in the way of the other.
    const { questions } = await world.client.call('inbox', {});
    expect(questions.map(({ jobId, kind, path }) => [jobId, kind, path])).toEqual([
      [hand.id, 'choice', [boss, hand.id]],
      [boss, 'text', [boss]],
    ]);
    await world.client.call('send', { id: hand.id, text: 'yes' });
    const asked = await world.until(hand.id, (job) => job.questions.some(({ kind }) => kind === 'permission'));
    const [permission] = asked.questions;
    await world.client.call('send', {
      ...{ id: hand.id, decision: 'deny', questionId: permission?.questionId, fingerprint: permission?.fingerprint },
    });
    // Before that the boss would be told of the permission, and not of the end.
    await world.until(hand.id, ({ status }) => status === 'completed');
    await world.client.call('send', { id: boss, text: 'nothing' });
    expect(await world.until(boss, ({ status }) => status === 'completed')).toMatchObject({ lastOutput: 'Over.' });
    expect((await world.results(hand.id)).map((text) => JSON.parse(text))).toMatchObject([
      { confirmed: true },
      { code: 'permission_denied' },
    ]);
  },
  SLOW_MS,
);

verifies('R-102').test(
  'a child nobody answers decides for itself, and the one beside it was done long before',
  async () => {
    world = teamWorld({ boss: { can_spawn_agents: true }, hand: { escalation_timeout: 3 }, other: {} });
    world.play([
      {
        agent: 'boss',
        user: 'Begin',
        does: ['hand', 'other'].map((agent) => call('agent__spawn', { agent, prompt: `Do it, ${agent}` })),
      },
      { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'other' })] },
      { agent: 'boss', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })], times: 2 },
      { agent: 'boss', tool: 'agent__collect', says: 'Both are done.' },
      { agent: 'other', user: 'Do it', says: 'Other is done.' },
      { agent: 'hand', user: 'Do it', does: [call('user__input', { question: 'How?' })] },
      { agent: 'hand', tool: 'user__input', says: 'Decided.' },
    ]);
    const boss = await world.start('boss', 'Begin');
    expect(await world.until(boss, ({ status }) => status === 'completed')).toMatchObject({
      lastOutput: 'Both are done.',
    });
    const hand = await world.child(boss, 'hand');
    const other = await world.child(boss, 'other');
    expect(Date.parse(other.endedAt ?? '') < Date.parse(hand.endedAt ?? '')).toBe(true);
    expect(JSON.parse((await world.results(hand.id))[0] ?? '')).toEqual({
      error: 'Nobody answered within 3 s',
      fallback: expect.stringContaining('Decide yourself'),
    });
    const events = await world.events(hand.id);
    expect(events.map(({ type, payload }) => (type === 'progress' ? payload.kind : type))).toContain('withdrawn');
    expect((await world.client.call('inbox', {})).questions).toEqual([]);
  },
  SLOW_MS,
);

verifies('R-102').test(
  'a parent answers its grandchild: the person is no longer asked, and a second answer is refused',
  async () => {
    world = teamWorld(AGENTS);
    world.play([
      ...DOWN,
      {
        agent: 'boss',
        tool: 'agent__collect',
        does: [call('agent__reply_escalation', { escalation_id: 'hand', reply: 'red' })],
      },
      {
        agent: 'boss',
        tool: 'agent__reply_escalation',
        does: [call('agent__reply_escalation', { escalation_id: 'hand', reply: 'blue' })],
      },
      { agent: 'boss', tool: 'agent__reply_escalation', does: [call('agent__collect', { id: 'lead' })] },
      { agent: 'lead', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })] },
      { agent: 'lead', tool: 'agent__collect', says: 'The hand has painted.' },
      { agent: 'boss', tool: 'agent__collect', says: 'All is red.' },
    ]);
    const boss = await world.start('boss', 'Begin');
    expect(await world.until(boss, ({ status }) => status === 'completed', 40_000)).toMatchObject({
      lastOutput: 'All is red.',
    });
    const lead = await world.child(boss, 'lead');
    const hand = await world.child(lead.id, 'hand');
    expect((await world.results(hand.id)).map((text) => JSON.parse(text))).toEqual([{ answer: 'red' }]);
    expect(await world.events(hand.id)).toContainEqual(
      expect.objectContaining({ payload: { kind: 'withdrawn', questionId: '"q1"#0', by: `job:${boss}` } }),
    );
    const answers = (await world.results(boss))
      .filter((text) => /answered|not_yours/.test(text))
      .map((text) => JSON.parse(text));
    expect(answers).toMatchObject([{ status: 'answered' }, { code: 'not_yours' }]);
  },
  SLOW_MS,
);
