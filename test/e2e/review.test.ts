import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { OperationOutput } from '../../src/protocol/operations.ts';
import { verifies } from '../support/verifies.ts';
import { refusal } from './real.ts';
import { ADDS, byBlock, done, QUICK, RunsRig, SUBTRACTS, visitsOf, writes } from './runs-rig.ts';

/** A person's comments on the lines of a worktree reach its agent as one message, whatever the agent is doing. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig();
  rig.write({ '.reef/workflows.yaml': `${QUICK}${APPROVED}` });
  await rig.trust();
});
afterEach(async () => {
  const { jobs } = await rig.world.client.call('status', {});
  for (const { id } of jobs) await rig.world.client.call('kill', { id });
  await rig.clear();
});
afterAll(() => rig.close());

const APPROVED = `
  Approved:
    entry_block: Approved__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: HALT_AND_FLAG }
          - { on_signal: SIGNAL:RESUMED, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
`;

const WRITES = { edit: { path: 'sum.mjs', content: SUBTRACTS } };
const heard = (steps: object[]) => [{ say: 'I heard: {message}' }, ...steps];

interface Side {
  old: string;
  new: string;
}

/** The ids in the index lines of the diff, as the page reads them. */
async function blobs(worktree: string): Promise<Side> {
  const { patch } = await rig.world.client.call('diff', { id: worktree });
  const [, old = '', now = ''] = /^index ([0-9a-f]{40})\.\.([0-9a-f]{40})/m.exec(patch) ?? [];
  return { old, new: now };
}

async function said(id: string): Promise<string> {
  const events = await rig.world.events(id);
  return events
    .flatMap(({ type, payload }) => (type === 'progress' && 'text' in payload ? payload.text : []))
    .join('\n');
}

const review = (input: Parameters<typeof rig.world.client.call<'review'>>[1]) => rig.world.client.call('review', input);
const comment = (blob: string, text: string) => ({ path: 'sum.mjs', side: 'new' as const, line: 1, blob, text });

async function spawned(script: object): Promise<{ id: string; worktree: string }> {
  const agent = rig.world.script('reviewed', script);
  const order = { agent, task: 'write sum', worktree: 'reviewed', keep: true };
  const { agentId, worktree = '' } = await rig.world.client.call('spawn', order);
  await rig.world.until(agentId, () => true);
  return { id: agentId, worktree };
}

verifies('U-25').test('an agent at work is told, with the lines that were commented on', async () => {
  const { id, worktree } = await spawned({
    steps: [WRITES, { say: 'Written.' }],
    onMessage: heard([{ edit: { path: 'sum.mjs', content: ADDS } }]),
  });
  await rig.world.until(id, ({ activity }) => activity === 'idle');
  const blob = (await blobs(worktree)).new;
  const reviewed = await review({ worktree, comments: [comment(blob, 'It has to add.')], text: 'Otherwise fine.' });
  expect(reviewed).toMatchObject({ how: 'resumed', agentId: id });
  expect(reviewed.message).toBe(
    [
      'A person has reviewed your work in this worktree and asks for changes. 1 comment on lines of it.',
      `sum.mjs, line 1:\n> ${SUBTRACTS.trim()}\nIt has to add.`,
      'Otherwise fine.',
    ].join('\n\n'),
  );
  await rig.world.until(id, ({ turns, activity }) => turns >= 2 && activity === 'idle');
  expect(await said(id)).toContain(`I heard: ${reviewed.message}`);

  const stale = review({ worktree, comments: [comment(blob, 'Too late.')] });
  expect(await refusal(stale)).toBe('review_stale');
});

verifies('U-25').test('a job that has ended goes on in its session; the same key is one message', async () => {
  const agent = rig.world.script('ended', { steps: [WRITES, { say: 'Written.' }], onResume: heard([]) });
  const { agentId, worktree = '' } = await rig.world.client.call('spawn', { agent, task: 'x', worktree: 'ended' });
  await rig.world.until(agentId, ({ status }) => status === 'completed');
  const comments = [comment((await blobs(worktree)).new.slice(0, 12), 'Why?')];
  const first = await review({ worktree, comments, key: 'once' });
  await rig.world.until(agentId, ({ status, launch }) => status === 'completed' && launch === 2);
  const again = await review({ worktree, comments, key: 'once' });
  expect([first, again.message]).toEqual([expect.objectContaining({ how: 'resumed', agentId }), first.message]);
  expect((await rig.world.job(agentId)).launch).toBe(2);
  expect((await said(agentId)).match(/Why\?/g)).toHaveLength(1);
});

verifies('U-25').test('a question comes first: a review is never taken for its answer', async () => {
  const { id, worktree } = await spawned([
    WRITES,
    { ask: { question: 'Which?', freeText: true } },
    { say: '{answer}' },
  ]);
  await rig.world.until(id, ({ status }) => status === 'awaiting_input');
  const comments = [comment((await blobs(worktree)).new, 'No.')];
  expect(await refusal(review({ worktree, comments }))).toBe('answer_first');
  expect((await rig.world.job(id)).questions).toHaveLength(1);
});

verifies('U-25').test('comments that fit nothing are refused, and nobody is told anything', async () => {
  const { id, worktree } = await spawned({ steps: [WRITES, { say: 'Written.' }], onMessage: heard([]) });
  await rig.world.until(id, ({ activity }) => activity === 'idle');
  const { old, new: now } = await blobs(worktree);
  const { base } = await rig.world.client.call('diff', { id: worktree });
  const refused = await Promise.all(
    [
      review({ worktree, comments: [] }),
      review({ worktree, comments: [], verdict: 'ok' }),
      review({ worktree, comments: [{ ...comment(now, 'x'), line: 99 }] }),
      review({ worktree, comments: [{ ...comment(now, 'x'), path: 'package.json' }] }),
      review({ worktree, comments: [{ ...comment(old, 'x'), side: 'old' }] }), // the file is new: it had no lines
      review({ worktree, comments: [comment(now, 'x')], base: 'f'.repeat(40) }),
      review({ worktree: 'nobody', comments: [comment(now, 'x')] }),
    ].map(refusal),
  );
  expect(refused).toEqual([
    'bad_request',
    'bad_request',
    'bad_request',
    'review_stale',
    'review_stale',
    'review_stale',
    'worktree_not_found',
  ]);
  expect(await said(id)).not.toContain('I heard');
  expect(await review({ worktree, comments: [comment(now, 'x')], base })).toMatchObject({ how: 'resumed' });
});

/** Subtracts, until a person says what is wrong. */
function listens(block: string): string {
  const steps = byBlock({
    [block]: [
      {
        choose: [
          { when: 'It has to add', steps: [writes('sum.mjs', ADDS), done('Added.')] },
          { steps: [writes('sum.mjs', SUBTRACTS), done('Written.')] },
        ],
      },
    ],
  });
  return rig.world.script('listens', { steps, onResume: steps });
}

verifies('U-25').test(
  'a run that halted goes back to its agent, also from a gate, and from the command line',
  async () => {
    const { runId } = await rig.start({ task: 'write sum', agent: listens('Quick__Write') });
    const { run } = await rig.settled(runId);
    expect(run.status).toBe('halted');
    const typed = await rig.reef('review', runId, '--comment', 'sum.mjs:1: It has to add.');
    expect([typed.code, typed.err, typed.out]).toEqual([0, '', expect.stringContaining(`The run goes on as ${runId}`)]);
    const { run: after, view } = await rig.settled(runId);
    expect([after.status, visitsOf(view)]).toEqual([
      'success',
      ['Write#1 SUCCESS', 'Test#1 FAILURE', 'Write#2 SUCCESS', 'Test#2 SUCCESS'],
    ]);
  },
);

verifies('U-25').test('a run that is over goes on as another one in the same worktree', async () => {
  const { runId } = await rig.start({ task: 'write sum', agent: listens('Approved__Write'), workflow: 'Approved' });
  const { run } = await rig.settled(runId);
  expect(run.status).toBe('halted');
  const approved = await review({ worktree: run.worktree, verdict: 'ok' });
  expect(approved).toMatchObject({ how: 'approved', runId });
  expect((await rig.settled(runId)).run.status).toBe('success');

  const file = join(rig.world.root, 'review.json');
  const comments = [comment((await blobs(run.worktree)).new, 'It has to add.')];
  writeFileSync(file, JSON.stringify({ comments, text: 'See above.' }));
  const again: OperationOutput<'review'> = await rig.json('review', run.worktree, '--file', file);
  expect([again.how, again.runId === runId]).toEqual(['retried', false]);
  const { run: next } = await rig.settled(again.runId ?? '');
  expect([next.worktree, next.continues]).toEqual([run.worktree, runId]);
  const { patch } = await rig.world.client.call('diff', { id: run.worktree });
  expect(patch).toContain(`+${ADDS.trim()}`);
});
