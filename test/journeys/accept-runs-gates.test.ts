import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { ADDS, byBlock, done, leftovers, PROJECT, RunsRig, SUBTRACTS, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** A project with three gates, of which the workflow runs one: `accept` runs the others, in a checkout that is set up. */

const FILES = {
  ...PROJECT,
  'package.json': JSON.stringify({
    type: 'module',
    scripts: {
      lint: 'node gate.mjs lint',
      build: 'node gate.mjs build',
      test: 'node gate.mjs test && node --import ./node_modules/judge/index.mjs --test --test-isolation=none',
    },
  }),
  // Needs what the set-up made, and writes down each time it ran.
  'gate.mjs': [
    "import { appendFileSync, existsSync, readFileSync } from 'node:fs';",
    "if (!existsSync('set-up.txt')) throw new Error('not set up');",
    "if (readFileSync('.env', 'utf8') !== 'KEY=1\\n') throw new Error('no .env');",
    "appendFileSync(readFileSync('set-up.txt', 'utf8').trim(), process.argv[2] + '\\n');\n",
  ].join('\n'),
  '.gitignore': '.env\nset-up.txt\nnode_modules\nran.txt\n',
};

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig(FILES);
  // The gates run in a sandbox: they can write down that they ran because this is allowed.
  rig.world.configure({
    reef: { timings: { linger: 0 }, sandbox: { write: [join(rig.world.repository, 'ran.txt')] } },
  });
  const setup =
    'test ! -e "$REEF_ROOT/.broken" || { echo no database; exit 3; }; test ! -e .npmrc || { echo unreadable .npmrc; exit 4; }; ' +
    'echo "$REEF_ROOT/ran.txt" > set-up.txt; mkdir -p node_modules/judge; echo "export {};" > node_modules/judge/index.mjs';
  rig.write({
    '.env': 'KEY=1\n',
    '.worktreeinclude': '.env\n',
    '.reef/config.yaml': `worktree: { setup: [sh, -c, '${setup}'] }\n`,
    'ran.txt': '',
  });
  await rig.trust();
});
afterAll(() => rig.close());

/** The gates that ran since the last look. They write outside their checkout, which a sandbox would hide. */
function ran(): string[] {
  const file = join(rig.world.repository, 'ran.txt');
  const names = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  writeFileSync(file, '');
  return names;
}
const reset = () => rig.git('reset', '-q', '--hard', 'HEAD~1');

/** Each test has files of its own: on the same ones no gate would run again. */
async function fixed(code = ADDS) {
  const steps = [writes('sum.mjs', code), done('Written.')];
  const agent = rig.world.script('right', byBlock({ Feature_Implement__GenerateCode: steps }));
  const followed = await rig.reef('run', 'test-fix', 'write sum', '--agent', agent, '--no-sandbox', '--follow');
  expect([followed.code, followed.err, [...new Set(ran())]]).toEqual([0, '', ['test']]);
  return (await rig.settled('@last')).run;
}

verifies('J-30', 'T-31').test(
  'accept runs the two gates that test-fix did not, once, and merges',
  async () => {
    const { path } = await fixed();
    const accepted = await rig.reef('worktree', 'accept', '@last');
    expect([accepted.err, accepted.code, accepted.out, ran()]).toEqual([
      '',
      0,
      expect.stringMatching(/^merged as [0-9a-f]{12}\n$/),
      ['lint', 'build'],
    ]);
    expect([rig.git('show', 'main:sum.mjs'), leftovers(rig), existsSync(path ?? '')]).toEqual([ADDS.trim(), [], false]);
    reset();
  },
  120_000,
);

verifies('J-30', 'T-31').test(
  'after an edit by hand the gates judge the new files; what fails is named with its log, and mending it is enough',
  async () => {
    const { worktree, path } = await fixed(`${ADDS}// by an agent\n`);
    const file = join(path ?? '', 'sum.mjs');
    writeFileSync(file, SUBTRACTS);
    const main = rig.git('rev-parse', 'main');
    const refused = await rig.reef('worktree', 'accept', worktree);
    // The test also judges what was there before the change, and again after what it may need was built there.
    const withEarlier = ['test', 'lint', 'build', 'test'];
    const judgedBy = ['lint', 'build', 'test', ...withEarlier];
    expect([refused.code, rig.git('rev-parse', 'main'), ran()]).toEqual([1, main, judgedBy]);
    expect(refused.err).toMatch(/^gates_failed: Not merged: test failed on these files\. To go on, mend it in \//);
    for (const said of ['-1 !== 5', `reef accept ${worktree}`]) expect(refused.err).toContain(said);
    const looked = await rig.reef('worktree', 'gates', worktree);
    // The base is known by now. What the test may need is built again, for the checkout held the base in between.
    expect([looked.code, looked.out.includes('-1 !== 5'), ran()]).toEqual([1, true, withEarlier]);
    writeFileSync(file, `${ADDS}// by hand\n`);
    const judged = await rig.reef('worktree', 'gates', worktree);
    expect([judged.code, judged.err, judged.out, ran()]).toEqual([
      0,
      '',
      `lint  passed\nbuild  passed\ntest  passed\nTo merge it: reef accept ${worktree}\n`,
      ['lint', 'build', 'test'],
    ]);
    rig.commit({ 'other.txt': 'moved\n' }, 'moved');
    rig.write({ '.broken': '' });
    const broken = await rig.reef('worktree', 'accept', worktree);
    expect([broken.code, broken.err]).toEqual([
      1,
      expect.stringMatching(/^gates_not_set_up: No gate ran: .*no database/s),
    ]);
    rig.git('clean', '-fq', '.broken');
    const accepted = await rig.reef('worktree', 'accept', worktree);
    expect([accepted.code, accepted.err, ran(), rig.git('show', 'main:sum.mjs')]).toEqual([
      0,
      '',
      ['lint', 'build', 'test'],
      `${ADDS}// by hand`,
    ]);
    expect(leftovers(rig)).toEqual([]);
    rig.git('reset', '-q', '--hard', 'HEAD~2');
  },
  120_000,
);

verifies('J-30').test(
  'the worktree of a job without a run is judged by the same gates',
  async () => {
    const agent = rig.world.script('job', [writes('sum.mjs', SUBTRACTS), { say: 'Done.' }]);
    const { agentId } = await rig.json('spawn', agent, 'write sum', '--no-sandbox', '--worktree');
    const { worktree = '', cwd } = await rig.world.until(agentId, ({ status }) => status === 'completed');
    const refused = await rig.reef('worktree', 'accept', worktree);
    expect([refused.code, refused.err]).toEqual([1, expect.stringMatching(/^gates_failed: Not merged: test failed/)]);
    writeFileSync(join(cwd, 'sum.mjs'), `${ADDS}// without a run\n`);
    ran();
    const accepted = await rig.reef('worktree', 'accept', worktree);
    expect([accepted.code, accepted.err, ran()]).toEqual([0, '', ['lint', 'build', 'test']]);
    reset();
  },
  120_000,
);

/** Plays in the first block of a workflow; what it writes is wrong. */
const writesWrongAnd = (name: string, ...commands: string[]) =>
  rig.world.script(
    name,
    byBlock({
      Feature_Implement__GenerateCode: [
        writes('sum.mjs', SUBTRACTS),
        ...commands.map((command) => ({ shell: ['sh', '-c', command] })),
        done('Written.'),
      ],
    }),
  );

/** The verdict of the first gate, and the log that the agent was given. */
async function firstVerdict(agent: string) {
  const { runId } = await rig.start({ task: 'write sum', workflow: 'test-fix', agent });
  const { view, run } = await rig.until(runId, (_run, shown) => (shown?.gates.length ?? 0) > 0);
  const [log] = Object.values(view.executionLog).filter(({ block }) => block.endsWith('RunTests'));
  await rig.settled(runId);
  await rig.clear();
  return {
    ...view.gates[0],
    log: log?.segments.map(({ head, tail }) => `${head}${tail ?? ''}`).join(''),
    path: run.path,
  };
}

verifies('X-136').test(
  'programs and packages that an agent put into its folder do not judge it, and the log names its own files',
  async () => {
    const npm =
      'mkdir -p node_modules/.bin; printf "#!/bin/sh\\n" > node_modules/.bin/npm; chmod +x node_modules/.bin/npm';
    const planted = await firstVerdict(writesWrongAnd('plants', npm));
    expect(planted).toMatchObject({ gate: 'test', result: 'failed', log: expect.stringContaining('-1 !== 5') });
    expect(planted.log).toContain(planted.path);
    expect(planted.log).not.toContain('scratch-');
    // The set-up made this file; tests import it.
    const tampered = await firstVerdict(
      writesWrongAnd('tampers', 'echo "process.exit(0)" > node_modules/judge/index.mjs', 'cat node_modules/judge/*'),
    );
    expect(tampered).toMatchObject({ gate: 'test', result: 'failed', log: expect.stringContaining('-1 !== 5') });
  },
  120_000,
);

verifies('X-136').test(
  'a change that breaks the set-up goes back to the agent with its log',
  async () => {
    const broken = await firstVerdict(writesWrongAnd('breaks', 'echo broken > .npmrc'));
    expect(broken).toMatchObject({ gate: 'test', result: 'failed', log: expect.stringContaining('unreadable .npmrc') });
  },
  120_000,
);
