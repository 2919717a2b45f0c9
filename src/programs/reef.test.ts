import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { JOB_ID, sampleChoice, sampleEvent, sampleJob, sampleQuestion } from '../../test/support/surfaces/samples.ts';
import { type CoreCall, smallCore } from '../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../test/support/surfaces/socket.ts';
import { spoken } from '../../test/support/surfaces/spoken.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { ReefError } from '../protocol/errors.ts';
import type { JobView } from '../protocol/job-operations.ts';
import type { Core } from '../protocol/operations.ts';

const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
const SMALL_DAEMON = fileURLToPath(new URL('../../test/support/surfaces/small-daemon.ts', import.meta.url));
const run = promisify(execFile);

let socket: TestSocket | undefined;
let calls: CoreCall[];
let dir: string;
beforeEach(async () => {
  dir = temporaryFolder();
  await mkdir(join(dir, '.git'));
  await writeFile(join(dir, '.git/HEAD'), 'ref: refs/heads/main\n');
});
afterEach(async () => {
  await socket?.close();
  socket = undefined;
});

async function serve(job?: JobView, changes?: Partial<Core>): Promise<TestSocket> {
  const small = smallCore(job, changes);
  calls = small.calls;
  socket = await openSocket(small.core);
  return socket;
}

/** What a person types, and what they get back. */
function reef(
  args: string[],
  options: { stdin?: string; tty?: boolean; env?: Record<string, string>; cwd?: string } = {},
) {
  const env = { PATH: process.env.PATH, HOME: dir, REEF_HOME: join(dir, 'home'), ...socket?.env, ...options.env };
  const person = (stdin: PassThrough) => void stdin.end(options.stdin ?? '');
  return spoken({ args, env, cwd: options.cwd ?? dir, isTTY: options.tty ?? false, person });
}

const inputs = () => calls.map(({ operation, input }) => [operation, input]);

test('each argument of spawn reaches its field', async () => {
  await serve();
  const words =
    'spawn scripted:a.jsonl task --cwd sub --model m --mode headful --keep --budget-tokens 5 --budget-turns 6 --budget-time 2m --sandbox --yes --unsafe --parent 01K --key k --json';
  const { code, out } = await reef(words.split(' '));
  expect([code, JSON.parse(out)]).toEqual([0, { agentId: JOB_ID, status: 'running', sandbox: 'bubblewrap' }]);
  expect(inputs()).toEqual([
    [
      'spawn',
      {
        agent: `scripted:${join(dir, 'a.jsonl')}`,
        task: 'task',
        cwd: join(dir, 'sub'),
        model: 'm',
        mode: 'headful',
        keep: true,
        budget: { tokens: 5, turns: 6, seconds: 120 },
        sandbox: true,
        yes: true,
        unsafe: true,
        plan: [],
        anyway: false,
        parentId: '01K',
        key: 'k',
      },
    ],
  ]);
});

test('spawn prints the id and what to type next, data and talk apart', async () => {
  await serve();
  const { code, out, err } = await reef(['spawn', 'claude', '-'], {
    stdin: 'a long task\n',
    cwd: join(dir, 'src', 'deep'),
  });
  expect([code, out]).toEqual([0, `${JOB_ID}  running\n`]);
  expect(err).toContain(`reef output ${JOB_ID} --follow`);
  expect(calls[0]?.input).toMatchObject({ task: 'a long task', cwd: dir, mode: 'headless', budget: {} });
});

test('each other command reaches its operation', async () => {
  await serve();
  const cases: [string, [string, unknown][]][] = [
    ['ps', [['status', {}]]],
    ['status @last', [['status', { id: '@last' }]]],
    ['send @last hello --key k', [['send', { id: '@last', text: 'hello', key: 'k' }]]],
    ['send @last --option A --option 2', [['send', { id: '@last', option: ['A', '2'] }]]],
    ['output @last --since 5 --limit 7', [['output', { id: '@last', since: '5', limit: 7, waitMs: 0 }]]],
    ['kill @last', [['kill', { id: '@last' }]]],
    [
      'kill --all',
      [
        ['status', {}],
        ['kill', { id: JOB_ID }],
      ],
    ],
    [
      'wait a b --until done,idle --timeout 5s',
      [['wait', { ids: ['a', 'b'], until: ['done', 'idle'], timeoutMs: 5_000 }]],
    ],
    ['wait --until done', [['wait', { ids: [], until: ['done'], timeoutMs: 45_000 }]]],
    ['interrupt @last', [['interrupt', { id: '@last' }]]],
    ['resume @last', [['resume', { id: '@last' }]]],
    ['resume @last shorter', [['resume', { id: '@last', text: 'shorter' }]]],
    ['inbox', [['inbox', {}]]],
  ];
  for (const [words, expected] of cases) {
    calls.length = 0;
    const { code, out } = await reef([...words.split(' '), '--json']);
    expect([words, code, inputs()]).toEqual([words, 0, expected]);
    expect(() => JSON.parse(out)).not.toThrow();
  }
});

verifies('X-56', 'X-138').test('allow and deny name the question and the fingerprint of what is open', async () => {
  const open = sampleQuestion();
  await serve(sampleJob({ status: 'awaiting_input', questions: [open, sampleChoice({ questionId: '1#0' })] }));
  const { questionId, fingerprint } = open;
  const cases: [string[], object][] = [
    [['--allow'], { decision: 'allow_once' }],
    [['--allow', '--session'], { decision: 'allow_session' }],
    [['--allow', '--always'], { decision: 'allow_always' }],
    [['--deny', 'too risky'], { decision: 'deny', reason: 'too risky' }],
  ];
  const named: typeof cases = [fingerprint.slice(0, 10), questionId].flatMap((name) =>
    cases.map(([flags, expected]): (typeof cases)[number] => [[...flags, '--question', name], expected]),
  );
  for (const [flags, expected] of [...cases, ...named]) {
    calls.length = 0;
    const isNamed = flags.includes('--question');
    const person = isNamed ? {} : { tty: true, stdin: 'y\n' };
    expect((await reef(['send', '@last', ...flags], person)).code).toBe(0);
    expect(inputs()).toEqual([
      ['status', { id: '@last' }],
      ['send', { id: '@last', questionId, fingerprint, ...expected }],
    ]);
  }
});

verifies('X-138').test(
  'a decision without a question is shown and asked at a terminal, refused elsewhere',
  async () => {
    await serve(sampleJob({ status: 'awaiting_input', questions: [sampleQuestion()] }));
    const asked = await reef(['send', '@last', '--allow'], { tty: true, stdin: 'n\n' });
    expect([asked.code, asked.out]).toEqual([3, '']);
    expect(asked.err).toMatch(/│ rm -rf build[\s\S]*Allow this, once\? \[y\/N\][\s\S]*the question is still open/);
    for (const tty of [false, true]) {
      const refused = await reef(['send', '@last', '--deny', '--json'], { tty, stdin: 'y\n' });
      expect([refused.code, JSON.parse(refused.out).error]).toMatchObject([
        2,
        { code: 'which_question', details: { questions: ['--question 3fa9c2d1e0  Allow Bash?'] } },
      ]);
    }
    expect(inputs().every(([operation]) => operation === 'status')).toBe(true);
  },
);

verifies('X-56').test('a decision about what is no longer open reaches nobody', async () => {
  const other = { questionId: '2#0', fingerprint: 'f'.repeat(64), question: 'Allow Write?' };
  await serve(sampleJob({ status: 'awaiting_input', questions: [sampleQuestion(), sampleQuestion(other)] }));
  const several = await reef(['send', '@last', '--allow', '--json']);
  expect([several.code, JSON.parse(several.out).error]).toMatchObject([
    2,
    {
      code: 'which_question',
      details: { questions: ['--question 3fa9c2d1e0  Allow Bash?', '--question ffffffffff  Allow Write?'] },
    },
  ]);
  const gone = await reef(['send', '@last', '--allow', '--question', 'abcdef0123']);
  expect([gone.code, gone.err.split('\n')[0]]).toEqual([
    4,
    'question_not_found: @last has no open question abcdef0123',
  ]);
  expect(inputs().every(([operation]) => operation === 'status')).toBe(true);
});

verifies('U-02').test('wrong usage is exit 2, says what is wrong, and calls nobody', async () => {
  await serve();
  const wrong = [
    ['spawn', 'claude'],
    ['spawn', 'claude', 't', '--budget-tokens', 'many'],
    ['spawn', 'claude', 't', '--budget-time', 'soon'],
    ['send', '@last'],
    ['send', '@last', '-'],
    ['send', '@last', '--allow', '--deny'],
    ['send', '@last', '--allow', '--option', '1'],
    ['send', '@last', 'x', '--always'],
    ['send', '@last', '--allow', '--always', '--session'],
    ['kill'],
    ['wait', '--until', 'tired'],
    ['wait', '--timeout', 'x'],
    ['output', '@last', '--raw', '--follow'],
    ['output', '@last', '--limit', '0'],
    ['completions', 'tcsh'],
    ['ps', '--nonsense'],
    ['frobnicate'],
  ];
  for (const args of wrong) {
    const { code, out, err } = await reef(args);
    expect([args, code, out]).toEqual([args, 2, '']);
    expect(err).toMatch(/^bad_request: .+\n.*reef help <command>/s);
    const json = await reef([...args, '--json']);
    expect([args, json.code, JSON.parse(json.out).error.code, json.err]).toEqual([args, 2, 'bad_request', '']);
  }
  expect(calls).toEqual([]);
});

verifies('U-02', 'U-03').test('an error of the daemon decides the exit code, in words or as a document', async () => {
  const codes = {
    job_not_found: 4,
    job_ended: 1,
    budget_exhausted: 5,
    agent_not_installed: 69,
    bad_cursor: 2,
  } as const;
  for (const [code, exit] of Object.entries(codes)) {
    await serve(undefined, {
      output: async () => {
        throw new ReefError(code as keyof typeof codes, 'what happened');
      },
    });
    const words = await reef(['output', 'x']);
    expect([words.code, words.out, words.err.split('\n')[0]]).toEqual([exit, '', `${code}: what happened`]);
    const json = await reef(['output', 'x', '--json']);
    expect([json.code, JSON.parse(json.out).error, json.err]).toMatchObject([
      exit,
      { code, message: 'what happened' },
      '',
    ]);
    await socket?.close();
  }
});

verifies('U-02').test('waiting for a job tells by its exit code how it stands', async () => {
  const cases: [Partial<JobView>, number][] = [
    [{ status: 'completed' }, 0],
    [{ status: 'error' }, 1],
    [{ status: 'error', reason: 'budget_exhausted' }, 5],
    [{ status: 'killed' }, 1],
    [{ status: 'stale' }, 1],
    [{ status: 'awaiting_input', questions: [sampleQuestion()] }, 3],
    [{ status: 'paused', reason: 'idle' }, 0],
    [{ status: 'paused', reason: 'rate_limit' }, 1],
    [{ status: 'paused', reason: 'budget' }, 5],
  ];
  for (const [changes, exit] of cases) {
    await serve(sampleJob(changes));
    const spawned = await reef(['spawn', 'claude', 't', '--wait', '--json']);
    expect([changes, spawned.code, JSON.parse(spawned.out).status]).toEqual([changes, exit, changes.status]);
    expect((await reef(['wait'])).code).toBe(exit);
    expect((await reef(['wait', '--until', 'done,needs_input'])).code).toBe(0);
    await socket?.close();
  }
});

test('a wait whose time is up is exit 1 and says so', async () => {
  await serve(undefined, { wait: async () => ({ met: false, jobs: [] }) });
  const { code, err } = await reef(['wait', '--timeout', '1s']);
  expect([code, err]).toEqual([1, 'The time is up, and none of it has happened yet.\n']);
});

test('a long wait is made of calls that each stay under 45 s', async () => {
  let left = 3;
  await serve(undefined, { wait: async () => ({ met: --left === 0, jobs: [sampleJob({ status: 'completed' })] }) });
  expect((await reef(['wait'])).code).toBe(0);
  expect(inputs()).toEqual(Array(3).fill(['wait', { ids: [], until: ['needs_input', 'done'], timeoutMs: 45_000 }]));
});

/** Pages as a daemon gives them: two at once, then one that comes later and ends the job. */
function paged(last: JobView['status']): Partial<Core> {
  const event = (seq: number, text: string) => sampleEvent('progress', { kind: 'text', text }, { seq });
  const pages = {
    start: { events: [event(1, 'one')], nextCursor: '1', truncated: true, status: 'running' },
    '1': { events: [event(2, 'two')], nextCursor: '2', truncated: false, status: 'running' },
    '2': { events: [event(3, 'three')], nextCursor: '3', truncated: false, status: last },
    '3': { events: [], nextCursor: '3', truncated: false, status: last },
  } as const;
  return {
    output: async ({ since }) => ({ agentId: JOB_ID, ...pages[(since ?? 'start') as keyof typeof pages] }) as never,
  };
}

test('output reads all pages there are; with --follow it goes on to the end of the job', async () => {
  await serve(undefined, paged('completed'));
  const once = await reef(['output', '@last']);
  expect(once.out.match(/one|two|three/g)).toEqual(['one', 'two']);
  expect(once.err).toContain('--since 2');
  calls.length = 0;
  const followed = await reef(['output', '@last', '--follow', '--json']);
  expect(
    followed.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq),
  ).toEqual([1, 2, 3]);
  expect(calls.map(({ input }) => (input as { waitMs: number }).waitMs)).toEqual([0, 0, 45_000]);
});

verifies('U-02').test('spawn --follow without a person stops at the question, which --json carries', async () => {
  const job = sampleJob({ status: 'awaiting_input', questions: [sampleChoice()] });
  await serve(job, paged('awaiting_input'));
  const json = await reef(['spawn', 'claude', 't', '--follow', '--json']);
  expect([json.code, json.err]).toEqual([3, '']);
  expect(JSON.parse(json.out.trim().split('\n').at(-1) ?? '').questions).toEqual([sampleChoice()]);
  const words = await reef(['spawn', 'claude', 't', '--follow']);
  expect([words.code, words.err.includes('--option 1')]).toEqual([3, true]);
});

test('several kills go on after a refusal and report each', async () => {
  await serve();
  const { code, out, err } = await reef(['kill', 'nobody', '@last']);
  expect([code, out]).toEqual([4, `${JOB_ID}  killed\nlast words\n`]);
  expect(err).toMatch(/^nobody {2}job_not_found: no job nobody/);
  const json = await reef(['kill', 'nobody', '@last', '--json']);
  expect(JSON.parse(json.out).jobs).toMatchObject([
    { agentId: 'nobody', error: { code: 'job_not_found' } },
    { agentId: JOB_ID, status: 'killed' },
  ]);
});

verifies('U-01').test('colours appear on a terminal only, and never with NO_COLOR', async () => {
  await serve();
  expect((await reef(['ps'])).out).not.toContain('\u001b[');
  expect((await reef(['ps'], { tty: true })).out).toContain('\u001b[');
  expect((await reef(['ps'], { tty: true, env: { NO_COLOR: '1' } })).out).not.toContain('\u001b[');
});

test('an empty list says so instead of nothing', async () => {
  await serve(undefined, { status: async () => ({ jobs: [] }) });
  const [ps, inbox] = [await reef(['ps']), await reef(['inbox'])];
  expect([ps.out, ps.err.split('.')[0], inbox.out, inbox.err]).toEqual(['', 'No jobs yet', '', 'No open questions.\n']);
});

test('daemon status and stop never start one', async () => {
  const none = await reef(['daemon', 'status', '--json']);
  expect([none.code, JSON.parse(none.out)]).toMatchObject([69, { running: false }]);
  expect((await reef(['daemon', 'stop', '--json'])).out).toBe('{"stopped":false}\n');
  await serve();
  const up = await reef(['daemon', 'status', '--json']);
  expect([up.code, JSON.parse(up.out)]).toMatchObject([0, { running: true, pid: process.pid, lastSeq: 7 }]);
});

test('daemon stop returns when the daemon is gone', async () => {
  const child = spawn(process.execPath, [SMALL_DAEMON, dir], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  const env = { REEF_HOME: dir, XDG_STATE_HOME: dir };
  await expect.poll(async () => (await reef(['daemon', 'status'], { env })).code).toBe(0);
  const stopped = await reef(['daemon', 'stop'], { env });
  expect([stopped.code, stopped.out, (await exited)[0]]).toEqual([0, 'stopped\n', 0]);
});

test('attach prints the command that joins the terminal', async () => {
  await serve();
  expect((await reef(['attach', 'my job'])).out).toBe("tmux -L reef attach -t 'my job'\n");
});

test('inside a job its own socket is used, and no daemon is started', async () => {
  const { path } = await serve();
  const inside = await reef(['ps', '--json'], { env: { REEF_SOCKET: path, REEF_HOME: join(dir, 'elsewhere') } });
  expect([inside.code, calls.length]).toEqual([0, 1]);
  const closed = await reef(['ps'], { env: { REEF_SOCKET: join(dir, 'gone.sock') } });
  expect([closed.code, closed.err.split(':')[0]]).toEqual([69, 'daemon_unavailable']);
});

test('outside a repository every command says what to do', async () => {
  const { code, err } = await reef(['ps'], { env: { REEF_HOME: '' }, cwd: '/' });
  expect([code, err.split(':')[0], err.includes('git init')]).toEqual([2, 'not_a_repository', true]);
});

verifies('U-05').test('reef --version loads the grammar and nothing else', async () => {
  const { out } = await reef(['--version']);
  expect(out).toBe(`${packageJson.version}\n`);
  const hook = `
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context); } });`;
  const { stdout, stderr } = await run(process.execPath, [
    '--import',
    `data:text/javascript,${encodeURIComponent(hook)}`,
    REEF,
    '--version',
  ]);
  expect(stdout).toBe(`${packageJson.version}\n`);
  const root = dirname(dirname(REEF));
  const loaded = stderr
    .trim()
    .split('\n')
    .filter((url) => url.startsWith('file:'))
    .map((url) => fileURLToPath(url).slice(root.length + 1));
  const isGrammar = (path: string) => /^(node_modules\/commander|src\/surfaces\/terminal\/grammar)\//.test(path);
  expect(loaded.filter((path) => !isGrammar(path)).sort()).toEqual([
    'bin/reef.cjs',
    'package.json',
    'scripts/check-node.cjs',
    'src/base/version.ts',
    'src/programs/reef.ts',
  ]);
});

verifies('U-05').test('no command of the command line loads zod, or the heavy parts of Node', async () => {
  await serve();
  const hook = `
    import { registerHooks } from 'node:module';
    registerHooks({ load(url, context, next) { if (url.includes('/zod/')) process.stderr.write('zod '); return next(url, context); } });
    process.on('exit', () => process.stderr.write(process.moduleLoadList.filter((name) => /undici|http2/.test(name)).join(' ')));`;
  const env = { ...process.env, ...socket?.env };
  for (const args of [
    ['ps'],
    ['inbox'],
    ['output', '@last', '--json'],
    ['kill', '@last', '--json'],
    ['send', '@last', 'x', '--json'],
  ]) {
    const node = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, REEF, ...args];
    expect([args, (await run(process.execPath, node, { env, cwd: dir })).stderr]).toEqual([
      args,
      args[0] === 'inbox' ? 'No open questions.\n' : '',
    ]);
  }
});

verifies('U-02').test('an interrupted command exits with 130 and its call ends', async () => {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await serve(undefined, {
    wait: (_input, _caller, signal) =>
      new Promise((_, reject) => {
        begun.resolve();
        signal.addEventListener('abort', () => {
          ended.resolve();
          reject(signal.reason);
        });
      }),
  });
  const child = spawn(process.execPath, [REEF, 'wait'], {
    env: { ...process.env, ...socket?.env },
    cwd: dir,
    stdio: 'ignore',
  });
  await begun.promise;
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(130);
  await ended.promise;
});

test('a reader that has seen enough ends the command quietly', async () => {
  const many = Array.from({ length: 5_000 }, (_, seq) =>
    sampleEvent('progress', { kind: 'text', text: 'x'.repeat(200) }, { seq }),
  );
  await serve(undefined, {
    output: async () => ({ agentId: JOB_ID, status: 'completed', events: many, nextCursor: '1', truncated: false }),
  });
  const child = spawn(process.execPath, [REEF, 'output', '@last'], {
    env: { ...process.env, ...socket?.env },
    cwd: dir,
  });
  const errors = text(child.stderr);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  const [code] = await once(child, 'exit');
  expect([code, (await errors).includes('EPIPE')]).toEqual([0, false]);
});
