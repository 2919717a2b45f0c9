import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { ADDS, byBlock, leftovers, QUICK, RunsRig, WRITES_IT_RIGHT, writes } from '../e2e/runs-rig.ts';
import { initRepository, plainGit, writeFiles } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';

/** A repository whose gates need a set-up, with a second checkout of the person's own, on another branch. */

let rig: RunsRig;
let linked: string;
const inLinked = (...args: string[]) => plainGit(linked, rig.world.env)(...args);
beforeAll(async () => {
  rig = new RunsRig();
  rig.commit({ '.reef/workflows.yaml': QUICK, '.gitignore': 'ready\n', 'sub/readme.md': 'sub\n' }, 'workflow');
  rig.write({ '.reef/config.yaml': "worktree: { setup: [sh, -c, 'touch ready'] }\n" });
  await rig.trust();
  linked = join(rig.world.root, 'linked');
  rig.git('worktree', 'add', '-q', linked, '-b', 'feature');
  writeFiles(linked, { 'only-here.txt': 'of the feature\n' });
  inLinked('add', '-A');
  inLinked('commit', '-qm', 'on the feature');
});
afterAll(() => rig.close());

const right = () => rig.world.script('right', byBlock({ Quick__Write: WRITES_IT_RIGHT }));

verifies('J-16').test(
  'run in a subfolder of a linked checkout starts from its branch and merges back there',
  async () => {
    const main = rig.git('rev-parse', 'main');
    const asked = ['run', 'Quick', 'Add up', '--agent', right(), '--accept', '--follow'];
    const done = await rig.reefIn(join(linked, 'sub'), ...asked);
    expect([done.err, done.code, done.out]).toEqual(['', 0, expect.stringMatching(/^success, merged, after/m)]);
    expect(inLinked('log', '--format=%s', '-2').split('\n')).toEqual(['Add up', 'on the feature']);
    expect([readFileSync(join(linked, 'sum.mjs'), 'utf8'), rig.git('rev-parse', 'main')]).toEqual([ADDS, main]);
    expect(leftovers(rig)).toEqual([`worktree ${linked}`]);

    const agent = rig.world.script('job', [writes('job.txt', 'job\n'), { say: 'Done.' }]);
    const { agentId } = JSON.parse((await rig.reefIn(linked, 'spawn', agent, 'a job', '--worktree', '--json')).out);
    const { worktree = '' } = await rig.world.until(agentId, ({ status }) => status === 'completed');
    expect((await rig.reef('worktree', 'accept', worktree)).code).toBe(0);
    expect([inLinked('log', '--format=%s', '-1'), rig.git('rev-parse', 'main')]).toEqual(['a job', main]);
  },
  120_000,
);

verifies('J-16').test(
  'on a detached HEAD a run starts from that commit, and says that the merge needs a branch',
  async () => {
    inLinked('checkout', '-q', '--detach');
    const refused = await rig.reefIn(linked, 'run', 'Quick', 'Never', '--agent', right(), '--accept');
    expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(/^target_unknown: .*\n.*--into/s)]);
    const written = rig.world.script(
      'more',
      byBlock({ Quick__Write: [writes('more.txt', 'more\n'), { say: 'SIGNAL:SUCCESS' }] }),
    );
    const done = await rig.reefIn(linked, 'run', 'Quick', 'More', '--agent', written, '--follow');
    const [, command = ''] = /reef (accept \S+ --into) BRANCH/.exec(done.out) ?? [];
    expect([done.code, done.out]).toEqual([0, expect.stringContaining('which is on no branch')]);
    const without = await rig.reef(...command.split(' ').slice(0, 2));
    expect([without.code, without.err]).toEqual([2, expect.stringContaining('--into')]);
    expect((await rig.reef(...command.split(' '), 'feature')).code).toBe(0);
    expect(rig.git('show', 'feature:more.txt', 'feature:only-here.txt').split('\n')).toEqual([
      'more',
      'of the feature',
    ]);
    inLinked('checkout', '-q', 'feature');
  },
  120_000,
);

verifies('J-16').test(
  'submodules that are not checked out are named, with what fills them',
  async () => {
    const library = join(rig.world.root, 'library');
    initRepository(library, { 'lib.txt': 'lib\n' });
    rig.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library, 'vendor/library');
    rig.git('commit', '-qm', 'submodule');
    const done = await rig.reef('run', 'Quick', 'Add up', '--agent', right(), '--follow');
    expect([done.code, done.out]).toEqual([
      0,
      expect.stringMatching(
        /Submodules are not checked out in its worktree: vendor\/library\. .*git submodule update --init/,
      ),
    ]);
    await rig.clear();
  },
  120_000,
);
