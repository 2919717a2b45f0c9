import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { byBlock, done, leftovers, RunsRig, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** Two branches of a fork, each in a worktree of its own, whose work is joined. */

const branch = (name: string) => `
  ${name}:
    entry_block: ${name}__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }`;
const FORK = `
start: Both
nodes:
  Both:
    entry_block: Both__Begin
    context_inheritance: true
    blocks:
      Begin:
        worker: Internal:FileSystemWriter
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: "FORK:Left,Right:Both__End", join: all, isolation: worktree }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      End:
        worker: Internal:FileSystemWriter
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
${branch('Left')}
${branch('Right')}
`;

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ 'list.txt': 'one\n', '.reef/workflows.yaml': FORK });
  rig.world.configure({ reef: { timings: { linger: 0 }, sandbox: 'off' } });
  await rig.trust();
});
afterAll(() => rig.close());

const agent = (name: string, left: unknown[], right: unknown[]) =>
  rig.world.script(name, byBlock({ Left__Write: left as never, Right__Write: right as never }));

verifies('J-35').test(
  'a conflict of two branches shows its files; resuming too early asks again, and no branch is lost',
  async () => {
    const both = agent(
      'both',
      [writes('list.txt', 'left\n'), writes('left.txt', 'l\n'), done('Left.')],
      [writes('list.txt', 'right\n'), writes('right.txt', 'r\n'), done('Right.')],
    );
    const halted = await rig.reef('run', 'Write both', '--agent', both, '--follow');
    expect([halted.code, halted.out]).toEqual([
      3,
      expect.stringMatching(/conflicts with that of the branches before it in list\.txt\./),
    ]);
    const { runId, path } = (await rig.json('runs')).runs[0];
    const [, other = ''] = /make these files agree here and in (\S+), then resume/.exec(halted.out) ?? [];
    expect(existsSync(join(other, 'right.txt'))).toBe(true);

    // Nothing was mended: it asks again, and the work of the branch is still where it was.
    expect((await rig.reef('run', 'resume', runId)).code).toBe(0);
    const again = await rig.reef('run', 'show', runId, '--wait');
    expect([again.code, again.out]).toEqual([3, expect.stringContaining('list.txt')]);
    expect(existsSync(join(other, 'right.txt'))).toBe(true);

    for (const folder of [path, other]) await writeFile(join(folder, 'list.txt'), 'left\nright\n');
    expect((await rig.reef('run', 'resume', runId)).code).toBe(0);
    const joined = await rig.reef('run', 'show', runId, '--wait');
    expect([joined.code, joined.out]).toEqual([0, expect.stringMatching(/^success, after/m)]);
    const { out } = await rig.reef('diff', runId);
    for (const file of ['A left.txt', 'A right.txt', 'M list.txt']) expect(out).toContain(file);
    expect((await rig.reef('accept', runId)).code).toBe(0);
    expect(leftovers(rig)).toEqual([]);
  },
  120_000,
);

verifies('J-35').test(
  'a run that is ended in the middle of a fork leaves no worktree of its branches',
  async () => {
    const hangs = { shell: ['sh', '-c', 'echo begun > begun.txt; exec sleep 600'] };
    const slow = agent('slow', [hangs, done('Left.')], [hangs, done('Right.')]);
    await rig.reef('run', 'Write slowly', '--agent', slow);
    const { runId, worktree } = (await rig.json('runs')).runs[0];
    await rig.until(runId, (_, view) => (view?.path.length ?? 0) >= 3);
    expect((await rig.reef('run', 'abort', runId)).code).toBe(0);
    await rig.settled(runId);
    const open = async () => (await rig.json('worktree', 'list')).worktrees.map(({ id }: { id: string }) => id);
    await expect.poll(open, { timeout: 30_000 }).toEqual([worktree]);
    expect((await rig.reef('discard', runId)).code).toBe(0);
    expect(leftovers(rig)).toEqual([]);
  },
  90_000,
);
