import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { OperationOutput } from '../../src/protocol/operations.ts';
import { artifactId } from '../../src/repostate/prompt/caps.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { ALONE, isHolding, MENDED, OneProduct } from './one-product-rig.ts';
import { installed } from './real.ts';

/** Runs that want the same file, files that know each other, and the same line. */

let rig: OneProduct;
beforeAll(async () => {
  rig = await OneProduct.open(artifactId, ALONE);
});
afterAll(() => rig.close());

type Radar = OperationOutput<'conflicts'>;

type Names = Record<string, string>;

function tiers({ clashes }: Pick<Radar['report'], 'clashes'>, names: Names): string[] {
  return clashes.map(({ tier, worktreeId }) => `${tier} ${names[worktreeId]}`).sort();
}

/** Each worktree with all it meets. */
function meetings({ worktrees }: Radar, names: Names): string[] {
  return worktrees.flatMap((each) => tiers(each, names).map((met) => `${names[each.id]}: ${met}`)).sort();
}

async function merged(worktree: string): Promise<string> {
  const accepted = await rig.json('worktree', 'accept', worktree);
  expect(accepted).toMatchObject({ status: 'merged' });
  return accepted.commit;
}

verifies('T-12', 'T-13', 'T-14', 'T-15', 'T-20', 'T-23')
  .needs(...installed('claude', 'codex'))
  .test(
    'of three runs the one that wants a file of another waits, the radar tells lines, files and references apart, and the waiting one starts by itself from what was merged',
    async () => {
      const first = await rig.alone('Alpha', ['alpha.mjs']);
      await rig.tend(first.runId, isHolding);
      const waiting = await rig.alone('Gamma', ['alpha.mjs', 'gamma.mjs']);
      const beside = await rig.alone('Beta', ['beta.mjs']);
      const [held] = await rig.tend(beside.runId, isHolding);
      const mine = await rig.json('worktree', 'create', 'by hand', '--plan', 'alpha.mjs', '--anyway');
      writeFileSync(join(mine.path, 'alpha.mjs'), 'export const alpha = () => 7;\n');
      expect((await rig.look(waiting.runId)).runs[0]).toMatchObject({
        status: 'queued',
        because: `waits for ${first.worktree} (alpha.mjs); ${mine.id} (alpha.mjs)`,
      });

      const names = {
        ...{ [first.worktree]: 'first', [waiting.worktree]: 'waiting' },
        ...{ [beside.worktree]: 'beside', [mine.id]: 'mine' },
      };
      // What it saw of a worktree may be two seconds old.
      const isSeen = (radar: string) => !radar.includes('"unknown"') && radar.includes('"hot"');
      const radar: Radar = await eventually(
        () => rig.json('conflicts', '--plan', 'alpha.mjs'),
        (seen: Radar) => isSeen(JSON.stringify(seen)),
      );
      expect([tiers(radar.report, names), meetings(radar, names)]).toEqual([
        ['hop beside', 'soft first', 'soft mine', 'soft waiting'],
        [
          ...['beside: hop first', 'beside: hop mine', 'beside: hop waiting'],
          ...['first: hop beside', 'first: hot mine', 'first: soft waiting'],
          ...['mine: hop beside', 'mine: hot first', 'mine: soft waiting'],
          ...['waiting: hop beside', 'waiting: soft first', 'waiting: soft mine'],
        ],
      ]);
      const { notices } = await rig.world.client.call('inbox', {});
      expect(notices.filter(({ kind }) => kind === 'hot_clash').length).toBe(1);

      expect((await rig.reef('worktree', 'discard', mine.id)).code).toBe(0);
      await rig.tend(first.runId);
      expect((await rig.settled(first.runId)).run.status).toBe('success');
      expect((await rig.look(waiting.runId)).runs[0]?.status).toBe('queued');
      const base = await merged(first.worktree);
      await rig.summaryWhen(waiting.runId, ({ status }) => status !== 'queued');
      await rig.tend(waiting.runId);
      const { run } = await rig.settled(waiting.runId);
      const { worktrees } = await rig.world.client.call('worktrees', {});
      expect([
        run.status,
        worktrees.find(({ id }) => id === run.worktree)?.base.commit,
        readFileSync(join(run.path ?? '', 'alpha.mjs'), 'utf8'),
      ]).toEqual(['success', base, MENDED['alpha.mjs']]);
      await merged(run.worktree);

      expect((await rig.world.job(held?.jobId ?? '')).status).toBe('awaiting_input');
      await rig.tend(beside.runId);
      expect((await rig.settled(beside.runId)).run.status).toBe('success');
      await merged(beside.worktree);
      const { report } = await rig.json('conflicts', '--plan', 'alpha.mjs');
      expect(report).toEqual({ status: 'CLEAR', complete: true, clashes: [] });
      const { 'total.mjs': _, ...rest } = MENDED;
      expect(rig.treeAt('HEAD')).toMatchObject(rest);
    },
    240_000,
  );
