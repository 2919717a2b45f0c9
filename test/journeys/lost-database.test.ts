import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
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

/** From here on all that is written stands in the log alone. */
function checkpoint(): void {
  const database = openSqlite(rig.world.home.database);
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

/** Kills the daemon and removes its database, with its log. */
async function loseDatabase(parts: readonly string[] = ['', '-wal', '-shm']): Promise<void> {
  await rig.world.killDaemon();
  const { database } = rig.world.home;
  for (const end of parts) rmSync(`${database}${end}`, { force: true });
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
    // The new log grows past the old cursor.
    const short = rig.world.script('short', [...Array(5).fill({ say: 'Again.' }), { say: 'After the reset.' }]);
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

for (const [what, parts] of [
  ['the log of the database', ['-wal']],
  ['the database without its log', ['']],
  ['both', ['', '-wal', '-shm']],
] as const) {
  verifies('Q-113').test(
    `after the loss of ${what} no finished job has failed, and a halted run and its worktree are as they were`,
    async () => {
      const { world } = rig;
      const spawn = async (...steps: object[]) => {
        const agent = world.script(`talk${steps.length}`, [{ say: 'begun' }, ...steps]);
        const { agentId } = await world.client.call('spawn', { agent, task: 'talk' });
        await world.until(agentId, ({ lastOutput }) => lastOutput.includes('begun'));
        return agentId;
      };
      const isOver = (id: string) => world.until(id, ({ endedAt }) => endedAt !== undefined);
      const before = await spawn();
      await isOver(before);
      const across = await spawn({ sleep: 2_000 }, { say: 'done' });
      const killed = await spawn({ sleep: 600_000 }, { say: 'never' }, { say: 'said' });
      checkpoint();
      await world.client.call('kill', { id: killed });
      const late = await spawn();
      for (const id of [across, late]) await isOver(id);
      const agent = world.script('wrong', byBlock({ Quick__Write: WRITES_IT_WRONG }));
      const ran = await rig.reef('run', 'Quick', 'Add up again', '--agent', agent, '--plan', 'sum.mjs', '--follow');
      expect(ran.code).toBe(3);
      const all = async () => {
        const [run] = (await rig.json('run', 'show', '@last')).runs;
        const jobs = await Promise.all([before, across, killed, late].map((id) => world.job(id)));
        return { run, jobs: jobs.map(({ id, status, lastOutput, endedAt }) => ({ id, status, lastOutput, endedAt })) };
      };
      const seen = await all();
      expect(seen.jobs.map(({ status }) => status)).toEqual(['completed', 'completed', 'killed', 'completed']);
      await eventually(
        async () => readFileSync(world.home.snapshot, 'utf8'),
        (text) => text.includes(seen.run.runId) && text.includes('"kind":"wait"'),
      );
      await loseDatabase(parts);

      expect(await all()).toEqual(seen);
      const { worktrees } = await rig.json('worktree', 'list');
      const worktree = worktrees.find(({ id }: { id: string }) => id === seen.run.worktree);
      expect(worktree).toMatchObject({ path: seen.run.path, changePlan: [{ path: 'sum.mjs' }] });
      expect(readFileSync(world.home.log, 'utf8')).toContain('from state.json');
      expect((await rig.reef('worktree', 'discard', seen.run.worktree)).code).toBe(0);
    },
    240_000,
  );
}
