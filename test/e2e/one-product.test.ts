import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { artifactId } from '../../src/repostate/prompt/caps.ts';
import { tier } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import {
  branches,
  completed,
  eventCounts,
  expectBounded,
  finished,
  isIt,
  lookedUp,
  promptsOf,
  seenOnBoth,
  texts,
} from './one-product-looks.ts';
import { isHolding, MENDED, OneProduct, QUESTION, SOURCES } from './one-product-rig.ts';
import { installed, refusal } from './real.ts';
import { leftovers, usersOwn } from './runs-rig.ts';

/** The five systems as one: one workflow, Claude Code, Codex and Reef's own coder beside each other, on one repository. */

const TEST_MS = 240_000;
const BLOCKS = ['Alpha__Mend', 'Beta__Mend', 'Gamma__Mend', 'Mend__Fix'];
/** Of the three functions, as each of the three has them in its worktree. */
const THEIR_OWN = [
  ['=> 1', '=> 0', '=> 0'],
  ['=> 0', '=> 2', '=> 0'],
  ['=> 0', '=> 0', '=> 3'],
];

let rig: OneProduct;
let start: string;
beforeAll(async () => {
  rig = await OneProduct.open(artifactId);
  start = rig.git('rev-parse', 'HEAD');
});
afterEach(async () => {
  await rig.clear();
  rig.git('reset', '-q', '--hard', start);
});
afterAll(() => rig.close());

/** What the code tools say of the three functions, asked as a job asks. */
async function seenBy(jobId: string): Promise<string[]> {
  const door = rig.door(jobId);
  const looks = ['alpha', 'beta', 'gamma'].map(async (name) => {
    const found = await door.call('get_symbol', { name, include_source: true });
    return /=> \d/.exec(JSON.stringify(found))?.[0] ?? JSON.stringify(found);
  });
  return Promise.all(looks);
}

verifies('C-004', 'U-16', 'S-29', 'S-37', 'S-38', 'W-25', 'W-26', 'W-60')
  .needs(...installed('claude', 'codex'))
  .test(
    'three kinds of agent mend a project side by side, each sees its own worktree, a fourth mends what they broke together, and it is merged',
    async () => {
      const own = usersOwn(rig);
      const runId = await rig.mend('together');
      const asked = await rig.tend(runId, isHolding, 3);
      const jobs = await branches(rig, asked);
      expect(Object.keys(jobs)).toEqual(['claude', 'codex', 'native:coder']);
      const { claude = '', codex = '', 'native:coder': coder = '' } = jobs;

      const told = await Promise.all([claude, codex, coder].map(async (id) => lookedUp(await rig.world.events(id))));
      const seen = await Promise.all([claude, codex, coder].map(seenBy));
      expect([told, seen]).toEqual([THEIR_OWN, THEIR_OWN]);
      const [mine, other] = [await rig.world.job(claude), await rig.world.job(codex)];
      const link = join(mine.cwd, 'link.mjs');
      symlinkSync(join(other.cwd, 'beta.mjs'), link);
      const outline = (input: { file_path: string; worktree?: string }) =>
        rig.door(claude).call('get_file_outline', input);
      expect([
        new Set([mine.cwd, other.cwd, rig.world.repository]).size,
        await refusal(outline({ file_path: join(other.cwd, 'beta.mjs') })),
        await refusal(outline({ file_path: 'link.mjs' })),
        await refusal(outline({ file_path: 'beta.mjs', worktree: other.worktree ?? '' })),
      ]).toEqual([3, 'path_outside_worktree', 'path_outside_worktree', 'not_yours']);
      rmSync(link);

      const worktree = await finished(rig, runId);
      const results = await Promise.all(
        [claude, codex, coder].map(async (id) => texts(await rig.world.events(id)).join('\n')),
      );
      expect(results.map((text) => text.includes('the needle: total.mjs subtracts'))).toEqual([true, true, true]);
      await expectBounded(rig, runId, { blocks: BLOCKS, coders: [coder] });
      expect([usersOwn(rig), (await rig.json('worktree', 'accept', worktree)).status]).toEqual([own, 'merged']);
      expect([rig.treeAt('HEAD'), leftovers(rig)]).toEqual([MENDED, []]);
    },
    TEST_MS,
  );

verifies('W-64')
  .needs(...installed('claude', 'codex'))
  .test(
    'a question of one of the three is at once in the inbox of every surface, the others go on, and the answer reaches it',
    async () => {
      const runId = await rig.mend('question');
      const holding = await rig.tend(runId, isHolding, 3);
      const { claude = '', codex = '', 'native:coder': coder = '' } = await branches(rig, holding);
      const { cli, mcp } = await seenOnBoth(rig, coder, async () => {
        for (const question of holding) if (question.jobId === coder) await rig.answer(question);
      });
      if (tier() !== 'test') expect(Math.max(cli.afterMs, mcp.afterMs)).toBeLessThan(5_000);
      const chain = {
        question: QUESTION,
        jobId: coder,
        runId,
        path: [coder],
        agent: 'native:coder',
        options: ['yes', 'no'],
      };
      expect([cli.entry, mcp.entry]).toMatchObject([chain, chain]);

      const before = await eventCounts(rig, [claude, codex]);
      for (const question of holding) if (question.jobId !== coder) await rig.answer(question);
      await completed(rig, { runId, jobIds: [claude, codex] });
      const after = await eventCounts(rig, [claude, codex]);
      const { status, questions } = await rig.world.job(coder);
      expect((await rig.look(runId)).runs[0]?.status).toBe('awaiting_input');
      expect([
        after.map((count, n) => count > (before[n] ?? 0)),
        status,
        questions.map(({ question }) => question),
      ]).toEqual([[true, true], 'awaiting_input', [QUESTION]]);

      expect((await rig.reef('send', coder, '--option', 'yes')).code).toBe(0);
      await finished(rig, runId);
      expect(texts(await rig.world.events(coder)).slice(-2)).toEqual(['yes', expect.any(String)]);
    },
    TEST_MS,
  );

verifies('T-13', 'T-23', 'T-32').test(
  'a merge waits for the checkout of the user, completes by itself when it is clean, and lets go who waited for it',
  async () => {
    const { runId } = await rig.start({ task: 'mend all', workflow: 'Solo', plan: SOURCES });
    const { run } = await rig.settled(runId);
    expect(run.status).toBe('success');
    const reads = rig.world.script('reads', [{ shell: ['cat', 'gamma.mjs'] }, { say: 'Done.' }]);
    const waiter = await rig.json('spawn', reads, 'read gamma', '--worktree', '--plan', 'gamma.mjs');
    rig.write({ 'notes.txt': 'half a thought,\r\nmine\n' });
    const own = usersOwn(rig);
    const pending = await rig.json('worktree', 'accept', run.worktree, '--when-clean');
    expect([pending.status, pending.waiting, usersOwn(rig)]).toEqual([
      'pending',
      { code: 'target_dirty', checkout: rig.world.repository, files: ['notes.txt'], command: expect.any(String) },
      own,
    ]);
    expect((await rig.world.job(waiter.agentId)).status).toBe('queued');

    rig.git('commit', '-qam', 'a thought of mine');
    const { cwd } = await rig.world.until(waiter.agentId, ({ status }) => status === 'completed', 60_000);
    expect(rig.treeAt('HEAD')).toEqual({ ...MENDED, 'notes.txt': 'half a thought,\r\nmine\n' });
    expect(rig.git('status', '--porcelain', '-uno')).toBe('');
    expect(readFileSync(join(rig.world.repository, 'notes.txt'), 'utf8')).toBe('half a thought,\r\nmine\n');
    expect([texts(await rig.world.events(waiter.agentId)), readFileSync(join(cwd, 'gamma.mjs'), 'utf8')]).toEqual([
      [MENDED['gamma.mjs']],
      MENDED['gamma.mjs'],
    ]);
  },
  TEST_MS,
);

verifies('W-60', 'W-77')
  .needs(...installed('claude', 'codex'))
  .test(
    'a daemon killed while the three work, and again while the fourth does, changes nothing of what is merged',
    async () => {
      const runId = await rig.mend('killed');
      const holding = await rig.tend(runId, isHolding, 3);
      const { claude = '', codex = '', 'native:coder': coder = '' } = await branches(rig, holding);
      for (const question of holding) if (question.jobId !== claude) await rig.answer(question);
      const pids = [await rig.world.killDaemon()];
      await completed(rig, { runId, jobIds: [codex], kept: (asked) => isIt(asked) || asked.jobId === claude });
      expect(await seenBy(claude)).toEqual(['=> 1', '=> 0', '=> 0']);
      for (const question of holding) if (question.jobId === claude) await rig.answer(question);
      await completed(rig, { runId, jobIds: [claude] });
      await rig.world.client.call('send', { id: coder, option: ['yes'] });
      await rig.until(runId, (_run, view) => view?.position?.block === 'Mend__Fix');
      pids.push(await rig.world.killDaemon());
      const worktree = await finished(rig, runId);
      expect([
        new Set([...pids, (await rig.world.client.daemon())?.pid]).size,
        // An agent that was just being started when the daemon was killed is started once more.
        [...new Set((await promptsOf(rig, runId)).map(({ block }) => block))].sort(),
      ]).toEqual([3, BLOCKS]);
      expect(await rig.json('worktree', 'accept', worktree)).toMatchObject({ status: 'merged' });
      expect([rig.treeAt('HEAD'), leftovers(rig)]).toEqual([MENDED, []]);
    },
    TEST_MS,
  );
