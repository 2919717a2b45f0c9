import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { SLOW_MS } from '../e2e/real.ts';
import { RunsRig } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Links that an agent in the sandbox leaves behind point at what only the user can read. Nothing of Reef's follows them later. */

const { bubblewrap } = await probeCapabilities();
const CANARY = 'canary-1ead';

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ 'a.txt': 'a\n', 'src/b.ts': 'export const b = 1;\n', 'package.json': '{}\n' }, '/var/tmp');
  // A gate that would print what the links lead to.
  const test = ['sh', '-c', 'cat a.txt docs/inner.ts; true'];
  rig.world.configure({ reef: { timings: { linger: 0 }, gates: { test } } });
  await rig.trust();
});
afterAll(() => rig.close());

verifies('X-43', 'X-113')
  .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
  .test(
    'diff, state, code questions, gates and merge of a worktree follow no link that an agent planted there',
    async () => {
      const secret = join(rig.world.root, 'user', 'secret.ts');
      const folder = join(rig.world.root, 'user', 'folder');
      mkdirSync(folder);
      for (const path of [secret, join(folder, 'inner.ts')]) writeFileSync(path, `export const x = '${CANARY}';\n`);
      const links = [
        ...['a.txt', 'src/b.ts', 'src/new.ts', 'package.json', 'README.md'].map((name) => [secret, name]),
        ...['docs', 'src/deep'].map((name) => [folder, name]),
      ].map(([to, name]) => `ln -sfn '${to}' ${name}`);
      const agent = rig.world.script('plants', [
        { shell: ['sh', '-c', `${links.join(' && ')} && ls -l`] },
        { say: 'Done.' },
      ]);
      const { agentId, worktree: id } = await rig.json('spawn', agent, 'plants', '--worktree');
      const job = await rig.world.until(agentId, ({ activity }) => activity === 'ended', 60_000);
      expect([job.status, job.sandbox]).toEqual(['completed', 'bubblewrap']);
      const seen: unknown[] = [await rig.world.client.call('diff', { id })];
      for (const words of [
        ['worktree', 'list'],
        ['state', id],
        ['code', 'search', 'export const', '--worktree', id],
        ['worktree', 'gates', id],
        ['worktree', 'accept', id, '--yes'],
      ]) {
        const answer = await rig.reef(...words);
        expect([words, answer.err, answer.code]).toEqual([words, expect.any(String), 0]);
        seen.push(answer);
      }
      seen.push(await rig.world.events(agentId), rig.git('log', '-p', '--all'));
      expect(JSON.stringify(seen)).not.toContain(`'${CANARY}'`);
      expect(readFileSync(secret, 'utf8')).toBe(`export const x = '${CANARY}';\n`);
      expect(rig.git('ls-tree', '-r', 'HEAD').length).toBeGreaterThan(0);
    },
    SLOW_MS,
  );
