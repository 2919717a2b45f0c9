import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { ADDS, byBlock, QUICK, RunsRig, WRITES_IT_WRONG } from '../e2e/runs-rig.ts';
import { writeFiles } from '../support/repository.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';

const rig = new RunsRig();
beforeAll(async () => {
  rig.commit({ '.reef/workflows.yaml': QUICK }, 'workflow');
  await rig.trust();
});
afterAll(() => rig.close());

/** Kills the daemon and removes its database, with its log. */
async function loseDatabase(): Promise<void> {
  await rig.world.killDaemon();
  const { database } = rig.world.home;
  for (const end of ['', '-wal', '-shm']) rmSync(`${database}${end}`, { force: true });
}

verifies('J-40').test(
  'a halted run, its worktree and its plan come back after the loss of the database, and the work can be merged',
  async () => {
    const agent = rig.world.script('wrong', byBlock({ Quick__Write: WRITES_IT_WRONG }));
    const ran = await rig.reef('run', 'Quick', 'Add up', '--agent', agent, '--plan', 'sum.mjs', '--follow');
    expect(ran.code).toBe(3);
    const before = await rig.json('run', 'show', '@last');
    const [run] = before.runs;
    const { snapshot } = rig.world.home;
    // The snapshot is written a moment after the last event.
    await eventually(
      async () => readFileSync(snapshot, 'utf8'),
      (text) => text.includes(run.runId) && text.includes('"kind":"wait"'),
    );
    await loseDatabase();

    const after = await rig.json('run', 'show', '@last');
    expect(after.runs).toEqual(before.runs);
    const { worktrees } = await rig.json('worktree', 'list');
    expect(worktrees).toMatchObject([{ id: run.worktree, path: run.path, changePlan: [{ path: 'sum.mjs' }] }]);
    expect((await rig.reef('inbox')).out).toContain(run.runId);
    const doctor = await rig.json('doctor');
    expect(doctor.findings.filter(({ check }: { check: string }) => check === 'worktrees')).toMatchObject([
      { severity: 'ok' },
    ]);

    writeFiles(run.path, { 'sum.mjs': ADDS });
    const accepted = await rig.reef('worktree', 'accept', run.worktree);
    expect([accepted.code, accepted.err]).toEqual([0, '']);
    expect(rig.git('show', 'HEAD:sum.mjs')).toBe(ADDS.trimEnd());
  },
  240_000,
);

verifies('J-40').test(
  'what no snapshot brings back is listed by doctor, and its command saves the work',
  async () => {
    const { id, path } = await rig.json('worktree', 'create', 'by-hand');
    writeFiles(path, { 'idea.txt': 'an idea\n' });
    await loseDatabase();
    rmSync(rig.world.home.snapshot);
    const { findings } = await rig.json('doctor');
    const told = findings.filter(({ check }: { check: string }) => check === 'worktrees');
    const what = `${path} is left over: no record uses it`;
    expect(told).toMatchObject([{ severity: 'warn', what }]);
    const [lost] = told;
    const [save = '', merge = ''] = (lost.fix.does as string).split(/, then |, saves its work/);
    rig.git('-C', path, 'add', '-A');
    expect([id !== '', save.startsWith(`git -C ${path} add -A && git -C ${path} commit`)]).toEqual([true, true]);
    rig.git('-C', path, 'commit', '-qm', 'saved');
    rig.git(...merge.replace(/^git /, '').split(' '), '--no-edit', '-q');
    expect(rig.git('show', 'HEAD:idea.txt')).toBe('an idea');
  },
  240_000,
);

verifies('J-41').test(
  'a cursor from before a reset of the home is told, and reading without it shows everything there is',
  async () => {
    const agent = rig.world.script('talks', [{ say: 'One.' }, { say: 'Two.' }, { say: 'Three.' }]);
    expect((await rig.reef('spawn', agent, 'Talk', '--wait')).code).toBe(0);
    const { nextCursor } = await rig.json('output', 'talk');
    await loseDatabase();
    rmSync(rig.world.home.snapshot, { force: true });
    const short = rig.world.script('short', [{ say: 'After the reset.' }]);
    expect((await rig.reef('spawn', short, 'Begin anew', '--wait')).code).toBe(0);
    for (const asked of [['output', 'begin anew'], ['events']]) {
      const refused = await rig.reef(...asked, '--since', nextCursor);
      expect([asked, refused.code, refused.err]).toEqual([asked, 4, expect.stringMatching(/^cursor_unknown: /)]);
      expect(refused.err).toContain('read again without one');
    }
    expect((await rig.reef('output', 'begin anew')).out).toContain('After the reset.');
  },
  90_000,
);
