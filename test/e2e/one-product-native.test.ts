import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import { artifactId } from '../../src/repostate/prompt/caps.ts';
import { tier } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
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
} from './one-product-looks.ts';
import { isHolding, MENDED, OneProduct, QUESTION } from './one-product-rig.ts';
import { installed } from './real.ts';
import { leftovers, usersOwn } from './runs-rig.ts';

/** The same project, mended by an agent of Reef's own that has a workflow do it, in which another has a third one help. */

const TEST_MS = 300_000;
const BLOCKS = ['Alpha__Mend', 'Beta__Mend', 'Delta__Mend', 'Team__Fix'];

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

/** All at work at once, each held after its change: whose question is whose, from the one at the top down. */
async function atWork(name: string) {
  const { boss, runId } = await rig.mendByTeam(name);
  const holding = await rig.tend(runId, isHolding, 3);
  const { claude = '', codex = '', 'native:hand': hand = '' } = await branches(rig, holding);
  const path = holding.find(({ jobId }) => jobId === hand)?.path ?? [];
  const release = async (isMeant: (question: InboxEntry) => boolean) => {
    for (const question of holding) if (isMeant(question)) await rig.answer(question);
  };
  return { boss, runId, claude, codex, hand, path, release };
}

/** The agent at the top has heard of the end what the one at the bottom said. */
async function toldTheTop(boss: string): Promise<void> {
  const { status, lastOutput } = await rig.world.until(boss, ({ activity }) => activity === 'ended', 60_000);
  expect([status, lastOutput]).toEqual(['completed', 'All is mended, and three it is.']);
}

verifies('C-004', 'R-90', 'R-100', 'U-14', 'U-16', 'S-37', 'S-38', 'T-32', 'W-25', 'W-60', 'W-64')
  .needs(...installed('claude', 'codex'))
  .test(
    'an agent runs a workflow of Claude Code, Codex and one with a helper: the question two below it has its whole chain on every surface, blocks nobody and is answered; the merge waits for a clean checkout',
    async () => {
      const { boss, runId, claude, codex, hand, path, release } = await atWork('native');
      const lead = path[1] ?? '';
      const jobs = await Promise.all([boss, claude, codex, lead, hand].map((id) => rig.world.job(id)));
      expect(jobs).toMatchObject([
        { agent: 'native:boss', depth: 0, cwd: rig.world.repository },
        { agent: 'claude', depth: 1, parentId: boss },
        { agent: 'codex', depth: 1, parentId: boss },
        { agent: 'native:lead', depth: 1, parentId: boss },
        { agent: 'native:hand', depth: 2, parentId: lead, cwd: jobs[3]?.cwd },
      ]);
      expect([path, new Set(jobs.map(({ cwd }) => cwd)).size]).toEqual([[boss, lead, hand], 4]);
      const told = await Promise.all([claude, codex, hand].map(async (id) => lookedUp(await rig.world.events(id))));
      expect(told).toEqual([
        ['=> 1', '=> 0', '=> 0'],
        ['=> 0', '=> 2', '=> 0'],
        ['=> 0', '=> 0', '=> 3'],
      ]);

      const { cli, mcp } = await seenOnBoth(rig, hand, () => release(({ jobId }) => jobId === hand));
      if (tier() !== 'test') expect(Math.max(cli.afterMs, mcp.afterMs)).toBeLessThan(5_000);
      const chain = { question: QUESTION, jobId: hand, runId, path, block: 'Delta__Mend', agent: 'native:hand' };
      expect([cli.entry, mcp.entry]).toMatchObject([chain, chain]);
      const before = await eventCounts(rig, [claude, codex]);
      await release(({ jobId }) => jobId !== hand);
      await completed(rig, { runId, jobIds: [claude, codex] });
      const after = await eventCounts(rig, [claude, codex]);
      expect([
        after.map((count, n) => count > (before[n] ?? 0)),
        (await rig.world.job(hand)).questions.map(({ question }) => question),
        (await rig.look(runId)).runs[0]?.status,
      ]).toEqual([[true, true], [QUESTION], 'awaiting_input']);

      expect((await rig.reef('send', hand, '--option', 'yes')).code).toBe(0);
      const worktree = await finished(rig, runId);
      await toldTheTop(boss);
      await expectBounded(rig, runId, { blocks: BLOCKS });

      rig.write({ 'notes.txt': 'half a thought\n' });
      const own = usersOwn(rig);
      const { status, waiting } = await rig.json('worktree', 'accept', worktree, '--when-clean');
      expect([status, waiting.files, usersOwn(rig)]).toEqual(['pending', ['notes.txt'], own]);
      rig.git('commit', '-qam', 'a thought of mine');
      await eventually(
        () => leftovers(rig),
        (left) => left.length === 0,
      );
      expect(rig.treeAt('HEAD')).toEqual({ ...MENDED, 'notes.txt': 'half a thought\n' });
    },
    TEST_MS,
  );

verifies('A-81', 'R-100', 'W-60', 'W-77')
  .needs(...installed('claude', 'codex'))
  .test(
    'a daemon killed while a question two below an agent waits, and again while the last block works, changes nothing of what is merged',
    async () => {
      const { boss, runId, claude, codex, hand, path, release } = await atWork('native-killed');
      await release(({ jobId }) => jobId === hand);
      await rig.tend(runId, (question) => isIt(question) || isHolding(question), 3);
      const pids = [await rig.world.killDaemon()];
      const { questions } = await rig.world.client.call('inbox', {});
      expect(questions.find(isIt)).toMatchObject({ jobId: hand, path, runId, block: 'Delta__Mend' });
      await release(({ jobId }) => jobId !== hand);
      await completed(rig, { runId, jobIds: [claude, codex] });
      await rig.world.client.call('send', { id: hand, option: ['yes'] });
      await rig.until(runId, (_run, view) => view?.position?.block === 'Team__Fix');
      pids.push(await rig.world.killDaemon());
      const worktree = await finished(rig, runId);
      await toldTheTop(boss);
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
