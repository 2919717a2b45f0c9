import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ROOT } from '../../../test/support/source-files.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { added, contextFor, inputFor, segment } from '../../../test/support/workflow/worker-input.ts';
import type { RunResult } from '../../base/programs.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import { type Capabilities, probeCapabilities } from '../../process/capabilities.ts';
import { run } from '../../process/run.ts';
import { ReefError } from '../../protocol/errors.ts';
import { findGateCommands } from '../project/gate-commands.ts';
import { boundGates } from './bound-gates.ts';
import { countTests, type GateParts, type RunGate, runBuilder, runLinter, testRunner } from './gates.ts';
import type { Worker } from './worker.ts';

let dir: string;
let capabilities: Capabilities;
beforeAll(async () => {
  capabilities = await probeCapabilities();
});
beforeEach(() => {
  dir = temporaryFolder();
});

const PATH = [dirname(process.execPath), '/usr/bin', '/bin'].join(':');
/** Found again in whatever a gate of this file leaves behind. */
const MARK = `REEF_GATE_MARK=${process.pid}-${Math.random()}`;
const [MARK_NAME = '', MARK_VALUE = ''] = MARK.split('=');
const gateEnv = () => ({ PATH, [MARK_NAME]: MARK_VALUE });
function survivors(): string[] {
  const isOurs = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(MARK);
    } catch {
      return false; // ended, or of another user
    }
  };
  return (existsSync('/proc') ? readdirSync('/proc') : []).filter((name) => /^\d+$/.test(name) && isOurs(name));
}
const openDir = createSafeDir;

/** The seed's mocked child process: it ends as it is told, and remembers how it was started. */
function fake(result: Partial<RunResult> | Error) {
  const specs: Parameters<RunGate>[0][] = [];
  const runGate: RunGate = async (spec) => {
    specs.push(spec);
    if (result instanceof Error) throw result;
    const ended = {
      code: 0,
      signal: null,
      stdout: Buffer.alloc(0),
      stderr: Buffer.alloc(0),
      timedOut: false,
      truncated: false,
    };
    return { ...ended, ...result };
  };
  return { specs, parts: { runGate, gateEnv, openDir } };
}
const real = (): GateParts & { openDir: typeof openDir } => ({
  runGate: boundGates({ capabilities }),
  gateEnv,
  openDir,
});

const sh = (script: string) => ['/bin/sh', '-c', script];
const earlier = segment('a', 'AGENT_OUTPUT', 'done');
const facts = (command: string[], code: number | null) => ({ command, code, signal: null, timedOut: false });
const gates: [name: string, make: (parts: ReturnType<typeof real>) => Worker, type: string][] = [
  ['TestRunner', testRunner, 'TEST_RESULT'],
  ['RunLinter', runLinter, 'LINT_RESULT'],
  ['RunBuilder', runBuilder, 'BUILD_RESULT'],
];

describe('TestRunner with a chosen process', () => {
  verifies('W-42', 'W-40').test('starts the configured command in the worktree directory', async () => {
    const { specs, parts } = fake({});
    const context = contextFor({ command: ['vitest', 'run', '--reporter=verbose'], timeoutMs: 900_000 });
    await testRunner(parts)(inputFor(dir), context);
    expect(specs).toEqual([
      {
        file: 'vitest',
        args: ['run', '--reporter=verbose'],
        cwd: dir,
        env: { PATH, [MARK_NAME]: MARK_VALUE },
        timeoutMs: 900_000,
        output: 'together',
        abort: context.abort,
      },
    ]);
  });

  verifies('W-43').test('exit 0 is SUCCESS with a TEST_RESULT of PASS and the log', async () => {
    const { parts } = fake({ stdout: Buffer.from('2 passed\n') });
    const output = await testRunner(parts)(inputFor(dir, [earlier]), contextFor({ command: ['t'] }));
    expect(output).toEqual({
      signal: 'SIGNAL:SUCCESS',
      new_payload: [earlier, { ...added(1, 'TEST_RESULT', '2 passed\n'), outcome: 'PASS' }],
      gate: facts(['t'], 0),
    });
  });

  verifies('W-44').test('another exit is FAILURE with the complete log of both streams', async () => {
    const long = 'x'.repeat(200_000);
    const { parts } = fake({ code: 1, stdout: Buffer.from(long), stderr: Buffer.from('AssertionError: 1 is not 2') });
    const output = await testRunner(parts)(inputFor(dir, [earlier]), contextFor({ command: ['t'] }));
    expect(output).toEqual({
      signal: 'SIGNAL:FAILURE',
      new_payload: [earlier, { ...added(1, 'TEST_RESULT', `${long}AssertionError: 1 is not 2`), outcome: 'FAIL' }],
      gate: facts(['t'], 1),
    });
  });

  verifies('W-45').test('a command that cannot be started is FAILURE with its cause, and no exception', async () => {
    const { parts } = fake(new ReefError('spawn_failed', 'Cannot start t: ENOENT'));
    const output = await testRunner(parts)(inputFor(dir), contextFor({ command: ['t'] }));
    expect(output).toEqual({
      signal: 'SIGNAL:FAILURE',
      new_payload: [
        { ...added(1, 'TEST_RESULT', 'Cannot start t: ENOENT'), outcome: 'FAIL' },
        added(2, 'ERROR', { code: 'gate_not_started', message: 'Cannot start t: ENOENT', command: ['t'] }),
      ],
      gate: facts(['t'], null),
    });
  });

  verifies('Q-43').test('what passes by itself is not a verdict', async () => {
    const { parts } = fake(new ReefError('too_many_files', 'no descriptor is left'));
    await expect(testRunner(parts)(inputFor(dir), contextFor({ command: ['t'] }))).rejects.toMatchObject({
      code: 'too_many_files',
    });
  });
});

describe('RunLinter with a chosen process', () => {
  verifies('W-56').test('exit 0 is SUCCESS and adds nothing', async () => {
    const { parts } = fake({ stdout: Buffer.from('[]') });
    const output = await runLinter(parts)(inputFor(dir, [earlier]), contextFor({ command: ['l'] }));
    expect(output).toEqual({ signal: 'SIGNAL:SUCCESS', new_payload: [earlier], gate: facts(['l'], 0) });
  });

  verifies('W-56', 'W-57').test('another exit is FAILURE with the parsed JSON of stdout alone', async () => {
    const report = [{ filePath: 'a.ts', messages: [{ ruleId: 'no-var', line: 3 }], errorCount: 1 }];
    const { parts } = fake({
      code: 1,
      stdout: Buffer.from(JSON.stringify(report)),
      stderr: Buffer.from('warning: slow'),
    });
    const output = await runLinter(parts)(inputFor(dir), contextFor({ command: ['l'] }));
    expect(output).toEqual({
      signal: 'SIGNAL:FAILURE',
      new_payload: [{ ...added(1, 'LINT_RESULT', report), outcome: 'FAIL' }],
      gate: facts(['l'], 1),
    });
  });

  verifies('W-57').test('what is not JSON is kept raw with the reason', async () => {
    const { parts } = fake({ code: 2, stdout: Buffer.from('Oops! '), stderr: Buffer.from('no config') });
    const { new_payload } = await runLinter(parts)(inputFor(dir), contextFor({ command: ['l'] }));
    const content = { raw: 'Oops! no config', parseError: expect.any(String) };
    expect(new_payload).toEqual([{ ...added(1, 'LINT_RESULT', null), outcome: 'FAIL', content }]);
  });
});

describe('RunBuilder with a chosen process', () => {
  verifies('W-58').test('exit 0 is SUCCESS and adds nothing', async () => {
    const { parts } = fake({ stdout: Buffer.from('built') });
    const output = await runBuilder(parts)(inputFor(dir, [earlier]), contextFor({ command: ['b'] }));
    expect(output).toEqual({ signal: 'SIGNAL:SUCCESS', new_payload: [earlier], gate: facts(['b'], 0) });
  });

  verifies('W-58', 'W-59').test('another exit is FAILURE with the complete raw log', async () => {
    const { parts } = fake({ code: 2, stdout: Buffer.from('compiling…\n'), stderr: Buffer.from('TS2322\n') });
    const output = await runBuilder(parts)(inputFor(dir), contextFor({ command: ['b'] }));
    expect(output).toEqual({
      signal: 'SIGNAL:FAILURE',
      new_payload: [{ ...added(1, 'BUILD_RESULT', 'compiling…\nTS2322\n'), outcome: 'FAIL' }],
      gate: facts(['b'], 2),
    });
  });
});

describe('every gate', () => {
  for (const [name, make, type] of gates) {
    verifies('W-41').test(`${name} without a command is FAILURE gate_not_configured`, async () => {
      const output = await make(real())(inputFor(dir, [earlier]), contextFor());
      const content = { code: 'gate_not_configured', message: expect.any(String) };
      expect(output).toEqual({
        signal: 'SIGNAL:FAILURE',
        new_payload: [earlier, { ...added(1, 'ERROR', null), content }],
      });
    });

    verifies('W-45', 'W-57', 'W-59').test(
      `${name} whose real command is missing is FAILURE and no exception`,
      async () => {
        const output = await make(real())(inputFor(dir), contextFor({ command: ['no-such-program-here'] }));
        const cause = 'There is no command "no-such-program-here".';
        expect(output.new_payload).toEqual([
          { ...added(1, type, cause), outcome: 'FAIL' },
          added(2, 'ERROR', { code: 'gate_not_started', message: cause, command: ['no-such-program-here'] }),
        ]);
        expect(output.signal).toBe('SIGNAL:FAILURE');
      },
    );

    verifies('W-45').test(`${name} whose script cannot find its program is not started either`, async () => {
      const output = await make(real())(inputFor(dir), contextFor({ command: sh('vitest-is-not-installed') }));
      expect(output.new_payload.map((each) => [each.type, each.outcome])).toEqual([
        [type, 'FAIL'],
        ['ERROR', undefined],
      ]);
      expect(JSON.stringify(output.new_payload[0]?.content)).toContain('not found');
    });

    verifies('W-40').test(`${name} over its time is killed with its whole tree`, async () => {
      const script = 'echo begun; setsid sleep 600 & sleep 600 & exec sleep 600';
      const context = contextFor({ command: sh(script), timeoutMs: 700 });
      const output = await make(real())(inputFor(dir), context);
      expect(output.gate).toMatchObject({ code: null, timedOut: true });
      expect(JSON.stringify(output.new_payload.at(-1)?.content)).toContain('ended after 0.7 s, its limit');
      expect(survivors()).toEqual([]);
    });
  }

  verifies('W-40').test(
    'works in the worktree, with an allow-listed environment and nothing on its input',
    async () => {
      const script = 'pwd; env | cut -d= -f1 | sort; cat; exit 1';
      const output = await testRunner(real())(inputFor(dir), contextFor({ command: sh(script) }));
      const lines = String(output.new_payload[0]?.content).trim().split('\n');
      expect(lines[0]).toBe(dir);
      // The shell itself sets PWD, OLDPWD, SHLVL and _.
      expect(lines.slice(1).filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))).toEqual([
        'PATH',
        MARK_NAME,
        'REEF_JOB',
      ]);
    },
  );

  verifies('W-40', 'W-44').test('stdout and stderr keep the order in which they were written', async () => {
    const script = 'for i in 1 2 3 4 5; do echo out $i; echo err $i >&2; done; exit 3';
    const output = await testRunner(real())(inputFor(dir), contextFor({ command: sh(script) }));
    const wanted = [1, 2, 3, 4, 5].map((n) => `out ${n}\nerr ${n}\n`).join('');
    expect(output).toMatchObject({ signal: 'SIGNAL:FAILURE', new_payload: [{ content: wanted }], gate: { code: 3 } });
  });

  verifies('W-40').test('death by a signal is FAILURE', async () => {
    const output = await testRunner(real())(inputFor(dir), contextFor({ command: sh('kill -9 $$') }));
    expect([output.signal, output.new_payload[0]?.outcome]).toEqual(['SIGNAL:FAILURE', 'FAIL']);
  });

  test('what a passing command leaves running does not delay it and is gone after it', async () => {
    const script = '(sleep 600 &) ; echo ok';
    const output = await testRunner(real())(inputFor(dir), contextFor({ command: sh(script) }));
    expect([output.signal, output.new_payload[0]?.content]).toEqual(['SIGNAL:SUCCESS', 'ok\n']);
    expect(survivors()).toEqual([]);
  });

  test('an abort ends it', async () => {
    const end = new AbortController();
    const context = { ...contextFor({ command: sh('echo up; exec sleep 600') }), abort: end.signal };
    const running = testRunner(real())(inputFor(dir), context);
    setTimeout(() => end.abort(), 300);
    expect((await running).signal).toBe('SIGNAL:FAILURE');
  });

  test('a worktree that is gone is said so', async () => {
    const output = await runBuilder(real())(inputFor(join(dir, 'gone')), contextFor({ command: sh('true') }));
    expect(output.new_payload.at(-1)?.content).toMatchObject({
      code: 'gate_not_started',
      message: `There is no folder ${join(dir, 'gone')}.`,
    });
  });

  test('the plain runner of src/process serves as well', async () => {
    const parts = { ...real(), runGate: run };
    const good = await testRunner(parts)(inputFor(dir), contextFor({ command: sh('echo fine') }));
    const bad = await runBuilder(parts)(inputFor(dir), contextFor({ command: ['no-such-program-here'] }));
    expect([good.signal, good.new_payload[0]?.content, bad.new_payload.map(({ type }) => type)]).toEqual([
      'SIGNAL:SUCCESS',
      'fine\n',
      ['BUILD_RESULT', 'ERROR'],
    ]);
  });
});

verifies('W-42', 'W-43', 'W-44').test(
  'a real vitest passes, and fails with its own report',
  async () => {
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    const write = (value: number) =>
      writeFileSync(
        join(dir, 'sum.test.js'),
        `import { expect, test } from 'vitest';\ntest('adds', () => expect(1 + 1).toBe(${value}));\n`,
      );
    const parts = { ...real(), gateEnv: () => ({ PATH: `${join(ROOT, 'node_modules/.bin')}:${PATH}`, HOME: dir }) };
    const command = ['vitest', 'run', '--reporter=verbose', '--pool=threads', '--maxWorkers=1'];
    const runTests = () => testRunner(parts)(inputFor(dir), contextFor({ command, timeoutMs: 60_000 }));
    write(2);
    const good = await runTests();
    write(3);
    const bad = await runTests();
    expect([good.signal, good.new_payload[0]?.outcome, bad.signal, bad.new_payload[0]?.outcome]).toEqual([
      'SIGNAL:SUCCESS',
      'PASS',
      'SIGNAL:FAILURE',
      'FAIL',
    ]);
    expect(String(good.new_payload[0]?.content)).toContain('1 passed');
    expect(String(bad.new_payload[0]?.content)).toMatch(/expected 2 to be 3/);
  },
  120_000,
);

/** ESLint is not installed here; this program reads real files and prints ESLint's JSON format and exit codes. */
const LINTER = `
import { readdirSync, readFileSync } from 'node:fs';
const results = readdirSync('.').filter((name) => name.endsWith('.js')).map((name) => {
  const messages = readFileSync(name, 'utf8').split('\\n').flatMap((line, index) =>
    line.startsWith('var ') ? [{ ruleId: 'no-var', severity: 2, message: 'Unexpected var.', line: index + 1, column: 1 }] : []);
  return { filePath: process.cwd() + '/' + name, messages, errorCount: messages.length, warningCount: 0 };
});
console.log(JSON.stringify(results));
process.exitCode = results.some(({ errorCount }) => errorCount > 0) ? 1 : 0;
`;

verifies('W-56', 'W-57').test(
  'a real linter of the ESLint format passes, and fails with its findings as data',
  async () => {
    writeFileSync(join(dir, 'lint.mjs'), LINTER);
    const command = ['node', 'lint.mjs', '.', '--format=json'];
    writeFileSync(join(dir, 'a.js'), 'const a = 1;\n');
    const good = await runLinter(real())(inputFor(dir), contextFor({ command }));
    writeFileSync(join(dir, 'a.js'), 'const a = 1;\nvar b = 2;\n');
    const bad = await runLinter(real())(inputFor(dir), contextFor({ command }));
    expect([good.signal, good.new_payload, bad.signal]).toEqual(['SIGNAL:SUCCESS', [], 'SIGNAL:FAILURE']);
    expect(bad.new_payload).toMatchObject([
      {
        type: 'LINT_RESULT',
        outcome: 'FAIL',
        content: [{ filePath: join(dir, 'a.js'), errorCount: 1, messages: [{ ruleId: 'no-var', line: 2 }] }],
      },
    ]);
  },
);

verifies('W-58', 'W-59').test('a real build passes, and fails with its log', async () => {
  mkdirSync(join(dir, 'src'));
  const script =
    '#!/bin/sh\necho building $(ls src | wc -l) files\ntest -f src/main.c || { echo "no main.c" >&2; exit 2; }\n';
  writeFileSync(join(dir, 'build.sh'), script);
  chmodSync(join(dir, 'build.sh'), 0o755);
  const build = () => runBuilder(real())(inputFor(dir), contextFor({ command: ['./build.sh'] }));
  const bad = await build();
  writeFileSync(join(dir, 'src/main.c'), 'int main() {}');
  const good = await build();
  expect([bad.signal, bad.new_payload[0]?.content, good.signal]).toEqual([
    'SIGNAL:FAILURE',
    'building 0 files\nno main.c\n',
    'SIGNAL:SUCCESS',
  ]);
});

describe('min_tests', () => {
  const junit = (count: number, more = '') =>
    `<?xml version="1.0"?><testsuites><testsuite name="s" tests="99">${'<testcase name="t"/>'.repeat(count)}${more}</testsuite></testsuites>`;

  verifies('W-46').test(
    'fewer tests than wanted is FAILURE, enough is SUCCESS, and an old report does not speak',
    async () => {
      writeFileSync(join(dir, 'old.xml'), junit(9));
      writeFileSync(join(dir, 'two.xml'), junit(2));
      const settle = async (script: string, report: string) => {
        const { signal, new_payload } = await testRunner(real())(
          inputFor(dir),
          contextFor({ command: sh(script), report, minTests: 2 }),
        );
        return [signal, new_payload[0]?.outcome, String(new_payload[0]?.content)];
      };
      expect([
        await settle('cp two.xml report.xml; echo ok', 'report.xml'),
        await settle('echo ok', 'old.xml'),
        await settle(`echo '{"numTotalTests":3,"numPendingTests":2}' > r.json`, 'r.json'),
        await settle('echo hello > r.txt', 'r.txt'),
        await settle('echo ok', '../outside.xml'),
      ]).toEqual([
        ['SIGNAL:SUCCESS', 'PASS', 'ok\n'],
        [
          'SIGNAL:FAILURE',
          'FAIL',
          'ok\n\nreef: the report old.xml was not written, so no test is proved to have run\n',
        ],
        ['SIGNAL:FAILURE', 'FAIL', '\nreef: 1 tests ran, at least 2 must\n'],
        ['SIGNAL:FAILURE', 'FAIL', '\nreef: the report r.txt is neither JUnit nor JSON of a known kind\n'],
        [
          'SIGNAL:FAILURE',
          'FAIL',
          'ok\n\nreef: the report ../outside.xml was not written, so no test is proved to have run\n',
        ],
      ]);
    },
  );

  verifies('W-46').test('a report is counted by its tags, not by what tests print', () => {
    const printed = '<system-out><![CDATA[<testcase/><testcase/>]]></system-out><!-- <testcase/> -->';
    const table: [string, number | undefined][] = [
      [junit(3), 3],
      [junit(1, `<testcase name="u"><skipped/></testcase>${printed}`), 1],
      [junit(0), 0],
      [`${junit(1)}<![CDATA[`, 1],
      ['<html></html>', undefined],
      ['{"numTotalTests":5,"numPendingTests":1,"numTodoTests":1}', 3],
      ['{"stats":{"tests":4,"pending":1}}', 3],
      ['{"stats":{}}', undefined],
      ['[]', undefined],
      ['', undefined],
    ];
    expect(table.map(([text]) => countTests(text))).toEqual(table.map(([, count]) => count));
  });
});

verifies('W-41').test('a gate comes from the roster, the configuration, the project, or a script', async () => {
  const find = (project: object | string | undefined, more: Partial<Parameters<typeof findGateCommands>[0]> = {}) =>
    findGateCommands({
      workers: undefined,
      configured: {},
      readProject: async (path) => {
        if (path !== 'package.json' || project === undefined) return undefined;
        return typeof project === 'string' ? project : JSON.stringify(project);
      },
      ...more,
    });
  const scripts = { test: 'node --test', lint: 'x', build: 'tsc' };
  expect([
    await find({ devDependencies: { vitest: '1' }, dependencies: { eslint: '9' } }),
    await find({ devDependencies: { vitest: '1' }, dependencies: { eslint: '9' }, scripts }),
    await find({ scripts: { test: 'echo "Error: no test specified" && exit 1' } }),
    await find({ scripts }, { configured: { lint: { command: ['biome', 'check'] } } }),
    await find(
      { scripts },
      { configured: { test: { command: ['a'] } }, workers: { 'Internal:TestRunner': { command: ['b', 'c'] } } },
    ),
    await find(undefined),
    await find('{nonsense'),
  ]).toEqual([
    {
      test: { command: ['vitest', 'run', '--reporter=verbose'], from: 'project' },
      lint: { command: ['eslint', '.', '--format=json'], from: 'project' },
    },
    {
      test: { command: ['npm', 'test'], from: 'script' },
      lint: { command: ['npm', 'run', 'lint'], from: 'script' },
      build: { command: ['npm', 'run', 'build'], from: 'script' },
    },
    {},
    {
      test: { command: ['npm', 'test'], from: 'script' },
      lint: { command: ['biome', 'check'], from: 'configuration' },
      build: { command: ['npm', 'run', 'build'], from: 'script' },
    },
    {
      test: { command: ['b', 'c'], from: 'roster' },
      lint: { command: ['npm', 'run', 'lint'], from: 'script' },
      build: { command: ['npm', 'run', 'build'], from: 'script' },
    },
    {},
    {},
  ]);
});
