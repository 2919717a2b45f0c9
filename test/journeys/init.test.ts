import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { findOnPath } from '../../src/base/programs.ts';
import { ADDS, done, PROJECT, QUICK, RunsRig, writes } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

/** From `reef init` in a repository as people have them to a run that its own scripts judge. */

let rig: RunsRig;
afterEach(() => rig.close());

const config = () => readFileSync(join(rig.world.repository, '.reef/config.yaml'), 'utf8');
/** Outside the checkout in which gates run: their sandbox has to be told. */
const verdict = () => join(rig.world.repository, '.reef/verdict.txt');
const inWorktree = (path: string, file: string) => readFileSync(join(path, file), 'utf8');

const TYPED = `/** @type {(a: number, b: number) => number} */\n${ADDS}`;
/** As hono has it: the check of types is the first half of the tests, and their runner is a dependency. */
const TYPE_CHECKED = {
  ...PROJECT,
  'package.json': JSON.stringify({
    ...{ type: 'module', main: 'sum.mjs', devDependencies: { vitest: '4' } },
    scripts: { test: 'node types.mjs && node --test --test-isolation=none', lint: 'node --check types.mjs' },
  }),
  'types.mjs': [
    "import { readFileSync } from 'node:fs';",
    "if (readFileSync('sum.mjs', 'utf8').includes('@type')) process.exit(0);",
    "console.log('sum.mjs(1,21): error TS7006: Parameter a has an implicit any type.');",
    'process.exit(1);\n',
  ].join('\n'),
  '.gitignore': 'node_modules/\n.reef/\n',
};

verifies('J-10').test('the scripts of a project are its gates, whole: an error of types is not green', async () => {
  rig = new RunsRig(TYPE_CHECKED);
  const made = await rig.reef('init', '--setup', 'true', '--yes');
  expect([made.code, made.err]).toEqual([0, 'Trusted: .reef/config.yaml, package.json scripts\n']);
  expect(made.out).toMatch(/^ {2}lint {4}npm run lint +script "lint" of package\.json$/m);
  expect(made.out).toMatch(/^ {2}test {4}npm test +script "test" of package\.json$/m);
  expect(config()).toContain('    test: ["npm", "test"] # script "test" of package.json\n');

  rig.write({ '.reef/workflows.yaml': QUICK });
  expect((await rig.reef('trust', '--yes')).code).toBe(0);
  const steps = [
    { choose: [{ when: 'Write, visit 2', steps: [writes('sum.mjs', TYPED)] }, { steps: [writes('sum.mjs', ADDS)] }] },
    done('Written.'),
  ];
  const agent = rig.world.script('typist', steps);
  const halted = await rig.json('run', 'write sum', '--agent', agent, '--wait');
  expect(halted.runs[0].status).toBe('halted');
  expect((await rig.reef('inbox')).out).toContain('error TS7006');

  expect((await rig.reef('run', 'resume', '@last', 'Name the types.')).code).toBe(0);
  const { run } = await rig.settled(halted.runs[0].runId);
  expect([run.status, inWorktree(run.path ?? '', 'sum.mjs')]).toEqual(['success', TYPED]);
  expect((await rig.reef('worktree', 'diff', '@last')).out).toContain('@type');
});

/** As django has it: tests of its own in Python, and npm for what is tested in a browser. */
const TWO_LANGUAGES = {
  'pyproject.toml': '[project]\nname = "sum"\n',
  'tox.ini': '[testenv]\nchangedir = tests\ncommands = {envpython} runtests.py\n',
  'tests/runtests.py': 'from total import total\nassert total(2, 3) == 5\n',
  'package.json': '{"private":true,"scripts":{"test":"grunt test"},"devDependencies":{"grunt":"1"}}\n',
  '.gitignore': '__pycache__/\nnode_modules/\n.reef/\n',
};

verifies('J-10')
  .needs(findOnPath('python3', process.env.PATH ?? '') !== undefined, 'Python is not installed')
  .test('of two toolchains the one that the project is written in judges, and the other is a flag away', async () => {
    rig = new RunsRig(TWO_LANGUAGES);
    const made = await rig.reef('init', '--yes');
    expect([made.code, made.err]).toEqual([0, 'Trusted: .reef/config.yaml, package.json scripts\n']);
    expect(made.out).toContain('  Python, Node\n');
    expect(made.out).toContain('  test    env PYTHONPATH=. python3 -B tests/runtests.py  tests/runtests.py\n');
    const [, flags = ''] = /add its flag to `reef (.*)`\n/.exec(made.out) ?? [];
    expect(made.out).toMatch(/^ {2}Node {2}--test 'npm test' +script "test" of package\.json$/m);

    rig.write({ '.reef/workflows.yaml': QUICK });
    await rig.reef('trust', '--yes');
    const agent = rig.world.script('adder', [
      writes('total.py', 'def total(a, b):\n    return a + b\n'),
      done('Written.'),
    ]);
    const ran = await rig.json('run', 'write total', '--agent', agent, '--wait');
    expect([ran.runs[0].status, existsSync(join(ran.runs[0].path, 'total.py'))]).toEqual(['success', true]);

    const other = await rig.reef(...flags.split(' '), '--test', 'npm test', '--yes');
    expect([other.code, other.out.includes("--test 'npm test'")]).toEqual([0, false]);
    expect(config()).toContain('    test: ["npm", "test"] # you said so\n');
  });

verifies('J-10').test('a script that watches files is no gate, and init says which and why', async () => {
  rig = new RunsRig({ 'package.json': '{"scripts":{"test":"node --test --watch","build":"node --version"}}\n' });
  const { out } = await rig.reef('init', '--yes');
  expect(out).toContain('  test    none: a run needs one\n');
  expect(out).toContain('Script "test" of package.json cannot be a gate: it watches files and never ends (--watch).');
  expect(config()).not.toContain('    test:');
});

verifies('J-15').test(
  'a wrong configuration names the line and the right key, and a gate may be a line of words',
  async () => {
    rig = new RunsRig();
    rig.write({ '.reef/verdict.txt': '' });
    rig.world.configure({ reef: { timings: { linger: 0 }, sandbox: { write: [verdict()] } } });
    const agent = rig.world.script('adder', [writes('sum.mjs', ADDS), done('Written.')]);
    const say = async (text: string, ...args: string[]) => {
      rig.write({ '.reef/config.yaml': text, '.reef/workflows.yaml': QUICK });
      await rig.reef('trust', '--yes');
      const { code, err } = await rig.reef(...args);
      return [code, err.split('\n').slice(0, 2).join('\n')];
    };
    const typo = 'reef:\n  gates:\n    lint: [npm, run, lint]\n    tets: npm test\n';
    const told =
      'config_invalid: .reef/config.yaml:4: reef.gates.tets: expected test, or a name that is less like it, found "npm test"';
    for (const args of [['init'], ['run', 'write sum', '--agent', agent]]) {
      expect(await say(typo, ...args)).toEqual([2, expect.stringContaining(told)]);
    }
    expect(await say('reef:\n  gates:\n    test: { comand: npm test }\n', 'init')).toEqual([
      2,
      expect.stringContaining('reef.gates.test.comand is not known here: did you mean reef.gates.test.command?'),
    ]);
    expect(await say('reef:\n  gates:\n    unit: 5\n', 'init')).toEqual([
      2,
      expect.stringContaining(
        '.reef/config.yaml:3: reef.gates.unit: expected a command such as "npm test" or ["npm", "test"], or keys such as command and timeout, found 5',
      ),
    ]);
    expect((await rig.json('runs')).runs).toEqual([]);

    rig.write({ '.reef/config.yaml': `reef:\n  gates:\n    test: npm test && echo judged > ${verdict()}\n` });
    await rig.reef('trust', '--yes');
    const ran = await rig.json('run', 'write sum', '--agent', agent, '--no-sandbox', '--wait');
    expect([ran.runs[0].status, readFileSync(verdict(), 'utf8')]).toEqual(['success', 'judged\n']);
  },
);
