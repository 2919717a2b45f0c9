import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld } from './harness.ts';

const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const world = makeWorld();
world.configure({ timings: { linger: 50 } });
afterAll(() => world.close());

verifies('X-56').test('of a hundred answers at once one counts, and the others are told who was first', async () => {
  const agent = world.script('ask', [{ permit: { tool: 'deploy', input: { to: 'x' }, steps: [{ say: 'deployed' }] } }]);
  const { agentId: id } = await world.client.call('spawn', { agent, task: 'x', keep: true });
  const asked = await world.until(id, (job) => job.awaiting_input);
  const [question] = asked.questions;
  const { questionId = '', fingerprint = '' } = question ?? {};
  const answers = Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? ('allow_once' as const) : ('deny' as const)));
  const batches: PromiseSettledResult<unknown>[] = [];
  for (let from = 0; from < answers.length; from += 25) {
    const calls = answers
      .slice(from, from + 25)
      .map((decision) => world.client.call('send', { id, decision, questionId, fingerprint }));
    batches.push(...(await Promise.allSettled(calls)));
  }
  await world.until(id, (job) => job.status === 'paused');
  const sent = (await world.events(id)).filter((event) => event.type === 'input_sent');
  const refusals = batches.flatMap((result) => (result.status === 'rejected' ? [codeOf(result.reason)] : []));
  expect({ taken: batches.length - refusals.length, sent: sent.length, refusals: new Set(refusals) }).toEqual({
    taken: 1,
    sent: 1,
    refusals: new Set(['already_answered']),
  });
});

function codeOf(error: unknown): string {
  const { code, body } = error as { code?: string; body?: { error: { code: string } } };
  return body?.error.code ?? code ?? String(error);
}

verifies('X-55', 'A-47').test('text, and words that are no decision, never allow anything', async () => {
  const agent = world.script('permit', [{ permit: { tool: 'deploy', input: {}, steps: [{ say: 'deployed' }] } }]);
  const { agentId: id } = await world.client.call('spawn', { agent, task: 'x' });
  const asked = await world.until(id, (job) => job.awaiting_input);
  const fingerprint = asked.questions[0]?.fingerprint ?? '';
  const tries = [
    { id, text: 'allow' },
    { id, text: 'yes' },
    { id, option: ['allow'] },
    { id, decision: 'allow_once' as const },
    { id, decision: 'allow_once' as const, fingerprint: 'another' },
    { id, decision: 'denied' as never, fingerprint },
    { id, decision: 'ALLOW_ONCE' as never, fingerprint },
  ];
  const refusals = [];
  for (const input of tries) refusals.push(await world.client.call('send', input).then(() => 'taken', codeOf));
  const still = await world.job(id);
  await world.client.call('send', { id, decision: 'deny', fingerprint });
  await world.until(id, (job) => job.status === 'completed');
  const texts = (await world.events(id)).filter((event) => event.type === 'progress' && event.payload.kind === 'text');
  expect({ refusals, still: still.status, texts }).toEqual({
    refusals: [
      'answer_needs_decision',
      'answer_needs_decision',
      'answer_needs_decision',
      'bad_request',
      'question_changed',
      'bad_request',
      'bad_request',
    ],
    still: 'awaiting_input',
    texts: [],
  });
});

test('no more jobs run at once than there are slots, and all get their turn', async () => {
  const small = makeWorld();
  try {
    small.configure({ maxJobs: 2, timings: { linger: 50 } });
    const agent = small.script('quick', [{ say: 'hi' }]);
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.push((await small.client.call('spawn', { agent, task: 'x' })).agentId);
    const { jobs } = await small.client.call('status', {});
    const busy = jobs.filter((job) => job.status === 'running').length;
    for (const id of ids) await small.until(id, (job) => job.status === 'completed');
    expect(busy).toBeLessThanOrEqual(2);
  } finally {
    await small.close();
  }
});

verifies('X-58', 'A-49').test(
  'what is allowed for good is not asked again, is listed, and can be taken back',
  async () => {
    const agent = world.script('always', [
      { permit: { tool: 'deploy', input: { to: 'y' }, steps: [{ say: 'deployed' }] } },
    ]);
    const start = async () => (await world.client.call('spawn', { agent, task: 'x' })).agentId;
    const reef = (...args: string[]) =>
      JSON.parse(
        execFileSync(process.execPath, [REEF, ...args, '--json'], { cwd: world.repository, env: world.env }).toString(),
      );

    const first = await start();
    const asked = await world.until(first, (job) => job.awaiting_input);
    const fingerprint = asked.questions[0]?.fingerprint ?? '';
    await world.client.call('send', { id: first, decision: 'allow_always', fingerprint });
    await world.until(first, (job) => job.status === 'completed');

    const second = await start();
    await world.until(second, (job) => job.status === 'completed');
    const granted = (await world.events(second)).flatMap((event) =>
      event.type === 'progress' && event.payload.kind === 'auto_answered' ? [event.payload.grant] : [],
    );
    const listed = reef('grants').grants;
    reef('grants', '--revoke', listed[0].fingerprint.slice(0, 12));

    const third = await start();
    const again = await world.until(third, (job) => job.awaiting_input || job.status === 'completed');
    await world.client.call('kill', { id: third });
    expect({
      granted,
      tools: listed.map((grant: { tool: string }) => grant.tool),
      again: again.status,
      left: reef('grants').grants,
    }).toEqual({
      granted: ['always'],
      tools: ['deploy'],
      again: 'awaiting_input',
      left: [],
    });
  },
);
