import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { ADDS, byBlock, PROJECT, RunsRig, WRITES_IT_RIGHT } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Gates by any name, in the order of the configuration; each judges the same files once. */

let rig: RunsRig;
afterEach(() => rig.close());

const ran = () => readFileSync(join(rig.world.repository, 'ran.txt'), 'utf8').trim().split(/\s+/);

/** Writes down that it ran, outside the checkout in which gates run. */
const gate = (name: string, rest = '') => JSON.stringify(`echo ${name} >> ${rig.world.repository}/ran.txt${rest}`);

verifies('J-25', 'J-24').test(
  'gates of any name run in their order, one that does not block is shown, and none judges the same files twice',
  async () => {
    rig = new RunsRig({ ...PROJECT, '.gitignore': 'ran.txt\n' });
    const config = [
      'reef:',
      '  gates:',
      `    typecheck: ${gate('typecheck')}`,
      `    test: ${gate('test', ' && npm test')}`,
      `    coverage: { command: ${gate('coverage', '; exit 1')}, blocks: false, timeout: 60 }`,
      `    e2e: [sh, -c, ${gate('e2e')}]`,
    ];
    rig.write({ 'ran.txt': '', '.reef/config.yaml': `${config.join('\n')}\n` });
    await rig.trust();
    const agent = rig.world.script('right', byBlock({ Feature_Implement__GenerateCode: WRITES_IT_RIGHT }));
    const followed = await rig.reef('run', 'full-gates', 'write sum', '--agent', agent, '--follow');
    expect([followed.code, followed.err]).toEqual([0, '']);
    expect(ran().filter((name) => name !== 'coverage')).toEqual(['typecheck', 'test', 'e2e']);
    expect(followed.out).toContain('coverage failed (does not block)');
    const again = await rig.reef('run', 'full-gates', 'write sum again', '--agent', agent, '--follow');
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/RunTests {2}typecheck passed \(before, on the same files\)/),
    ]);
    const before = ran().length;
    const judged = await rig.reef('worktree', 'gates', '@last');
    expect(judged.out).toMatch(/^typecheck {2}passed \(before, on the same files\)/);
    expect([judged.code, judged.out.includes('coverage  failed (does not block)')]).toEqual([0, true]);
    const accepted = await rig.reef('worktree', 'accept', '@last');
    expect([accepted.code, accepted.out]).toEqual([
      0,
      expect.stringContaining('gate failed, which does not stop a merge: coverage'),
    ]);
    expect(
      ran()
        .slice(before)
        .filter((name) => name !== 'coverage'),
    ).toEqual([]);
    expect(rig.git('show', 'main:sum.mjs')).toBe(ADDS.trim());
  },
  180_000,
);
