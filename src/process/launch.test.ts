import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  fixture,
  jobSpec,
  lineOf,
  PATH,
  pidsNaming,
  runJob,
  startJob,
  startLauncher,
  startTree,
  survivorsOf,
  TREE_SIZE,
  textOf,
} from '../../test/support/programs.ts';
import { scale, tier } from '../../test/support/scale.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { probeCapabilities } from './capabilities.ts';
import { allowedEnv } from './environment.ts';
import { FifoWriter } from './fifo.ts';
import { adopt } from './identity.ts';
import { launch } from './launch.ts';
import { abandonLaunch, readLaunch } from './launch-folder.ts';
import { tagOf } from './process-table.ts';
import { run } from './run.ts';
import { tagged } from './sweep.ts';
import { endTree } from './tree.ts';

const capabilities = await probeCapabilities();

verifies('X-21').test('arguments arrive literally, whatever is in them', async () => {
  const folder = temporaryFolder();
  const args = ['a b', "it's", '"', '$(touch pwned)', '`id`', 'line\nbreak', '', '*', '-k', '; exit 9', '\\', 'ü💥'];
  const shown = await show(folder, { args, tag: "tag '$(id)'" });
  expect(shown).toEqual({ args, env: expect.objectContaining({ REEF_JOB: "tag '$(id)'" }), cwd: folder });
  expect(readdirSync(folder)).toEqual(['job']);
});

verifies('X-20').test('the agent sees the environment it was given and nothing of ours', async () => {
  const folder = temporaryFolder();
  const ours = {
    ...process.env,
    NODE_OPTIONS: '',
    LD_PRELOAD: '',
    GIT_DIR: '/x',
    SSH_AUTH_SOCK: '/s',
    OTHER_API_KEY: 'k',
  };
  const env = allowedEnv(ours, [], { MINE: "$(id) '\n", REEF_JOB: 'the job we run in' });
  const shown = await show(folder, { env, tag: 'job-own' });
  const { PWD, OLDPWD, SHLVL, _, ...seen } = shown.env; // a shell may add these
  expect(seen).toEqual({ ...env, REEF_JOB: 'job-own' });
});

test('the wrapper carries no tag, not even the one we run under ourselves', async () => {
  const job = await startJob('tree.sh', capabilities, { env: { PATH, REEF_JOB: 'outer' } });
  const tags = [await tagOf(job.identity.pid), (await tagged()).some(({ tag }) => tag === job.tag)];
  await endTree(job, { graceMs: 5_000 });
  expect(tags).toEqual([undefined, true]);
});

verifies('X-20').test('an agent never finds our tools by a PATH it can write to', async () => {
  const folder = temporaryFolder();
  for (const tool of ['timeout', 'unshare', 'grep', 'date', 'ln', 'mv', 'sh', 'mkfifo']) {
    writeFileSync(join(folder, tool), `#!/bin/sh\n/usr/bin/touch '${folder}/hijacked'\n`);
    chmodSync(join(folder, tool), 0o755);
  }
  const shown = await show(folder, { file: process.execPath, env: { PATH: `${folder}:${PATH}` } });
  expect({ path: shown.env.PATH, hijacked: readdirSync(folder).includes('hijacked') }).toEqual({
    path: `${folder}:${PATH}`,
    hijacked: false,
  });
});

verifies('X-44').test('everything in the folder of a launch is for its owner alone', async () => {
  const job = await startJob('tree.sh', capabilities);
  await endTree(job, { graceMs: 5_000 });
  const modes = readdirSync(job.dir).map((name) => [name, modeOf(join(job.dir, name))]);
  expect({ folder: modeOf(job.dir), files: Object.fromEntries(modes) }).toEqual({
    folder: '700',
    files: { in: '600', out: '600', err: '600', pid: '600', begun: '600', exit: '600' },
  });
});

test('the agent keeps the umask of its user', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder, { file: 'sh', args: ['-c', 'umask'] });
  const { out } = await runJob(spec, capabilities);
  expect(Number.parseInt(out, 8)).toBe(process.umask());
});

test('the agent reads its input line by line and its code is kept', async () => {
  const job = await startJob('repeats-input.sh', capabilities);
  for (const line of ['one\n', 'two\n', 'end\n']) {
    const input = new FifoWriter(join(job.dir, 'in')); // each by another writer, as after a restart
    input.write(Buffer.from(line));
    input.close();
  }
  const exit = await until('it ended', () => readLaunch(job.dir).exit);
  expect({ said: job.said(), code: exit.code }).toEqual({ said: 'ready\none\ntwo\n', code: 3 });
});

test('a file as input ends where it ends', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'prompt');
  writeFileSync(file, 'first\nlast\n');
  const spec = jobSpec('repeats-input.sh', folder, { stdin: { file } });
  const { out, code } = await runJob(spec, capabilities);
  expect({ said: out, code }).toEqual({ said: 'ready\nfirst\nlast\n', code: 0 });
});

test('what is written as soon as a launch resolves reaches the agent', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('repeats-input.sh', folder);
  await launch(spec, capabilities);
  const input = new FifoWriter(join(spec.dir, 'in'));
  input.write(Buffer.from('early\nend\n'));
  input.close();
  await until('it ended', () => readLaunch(spec.dir).exit);
  expect(textOf(join(spec.dir, 'out'))).toBe('ready\nearly\n');
});

verifies('Q-25').test('the end is kept with code and time in milliseconds', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder, { file: 'sh', args: ['-c', 'echo out; echo err >&2; exit 42'] });
  const startedAt = Date.now();
  const { code, at, out, err } = await runJob(spec, capabilities);
  expect({ code, out, err }).toEqual({ code: 42, out: 'out\n', err: 'err\n' });
  expect(at).toMatch(/T\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(Date.parse(at)).toBeGreaterThanOrEqual(startedAt - 1);
  expect(Date.parse(at)).toBeLessThanOrEqual(Date.now() + 1);
});

test('a program that does not exist is an exit with 127 and its reason', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder, { file: 'no-such-agent', env: {} });
  const { code, err } = await runJob(spec, capabilities);
  expect({ code, err }).toEqual({
    code: 127,
    err: expect.stringContaining('no-such-agent'),
  });
});

test('an agent killed by a signal leaves no message of a shell in its errors', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder, { file: 'sh', args: ['-c', 'kill -KILL $$'] });
  const { code, err } = await runJob(spec, capabilities);
  expect({ code, err }).toEqual({ code: 137, err: '' });
});

test('a launch that cannot start rejects with what is wrong', async () => {
  const folder = temporaryFolder();
  const used = jobSpec('tree.sh', folder, { dir: join(folder, 'used') });
  await endTree({ identity: await launch(used, capabilities), tag: used.tag }, { graceMs: 5_000 });
  const start = (more: object, machine: object = {}) =>
    launch({ ...jobSpec('tree.sh', folder), ...more }, { ...capabilities, ...machine });
  const failures = [
    start({ cwd: '/no/such/folder', dir: join(folder, '1') }),
    start({ dir: used.dir }),
    start({ ceilingMs: 0, dir: join(folder, '2') }),
    start({ dir: join(folder, '3') }, { timeout: undefined, perl: undefined }),
  ];
  const codes = await Promise.all(failures.map((failure) => failure.catch((error: { code: string }) => error.code)));
  expect(codes).toEqual(['cwd_missing', 'spawn_failed', 'bad_request', 'spawn_failed']);
});

verifies('Q-30').test(
  'short of descriptors a launch says so, a running job is unharmed and never taken for dead',
  async () => {
    const folder = temporaryFolder();
    const running = await startTree(capabilities);
    const spec = JSON.stringify({ spec: jobSpec('tree.sh', folder), capabilities });
    const { stdout, stderr } = await run({
      file: 'sh',
      args: ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, fixture('short-of-files.ts'), spec],
      cwd: folder,
      env: { PATH },
      timeoutMs: 60_000,
    });
    const members = survivorsOf(running.nonce).length;
    await endTree(running, { graceMs: 5_000 });
    expect({ said: stdout.toString(), stderr: stderr.toString(), members }).toEqual({
      said: 'run too_many_files, launch too_many_files, bound too_many_files, adopt EMFILE, read EMFILE',
      stderr: '',
      members: TREE_SIZE,
    });
  },
);

verifies('Q-22').test('the identity is on disk before the agent starts', async () => {
  const folder = temporaryFolder();
  const dir = join(folder, 'job');
  const spec = jobSpec('tree.sh', folder, { file: 'cat', args: [join(dir, 'pid')] });
  const { identity, out } = await runJob(spec, capabilities);
  expect(JSON.parse(out)).toEqual(identity);
});

verifies('Q-22').test('a launch given up starts nothing, however late its wrapper comes', async () => {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder);
  mkdirSync(spec.dir);
  const verdicts = [abandonLaunch(join(folder, 'never made')), abandonLaunch(spec.dir), abandonLaunch(spec.dir)];
  const failure = await launch(spec, capabilities).catch((error: { code: string }) => error.code);
  expect({
    verdicts,
    failure,
    record: readLaunch(spec.dir),
    said: readFileSync(join(spec.dir, 'out'), 'utf8'),
  }).toEqual({
    verdicts: ['abandoned', 'abandoned', 'abandoned'],
    failure: 'spawn_failed',
    record: {},
    said: '',
  });
});

test('what is torn or not of its shape in a launch folder is nothing', () => {
  const folder = temporaryFolder();
  const contents = ['', '{', '7', 'null', '[]', '{"pid":"1","code":"0"}', '{"pid":1.5,"startTime":"1","bootId":"b"}'];
  const records = contents.map((content) => {
    for (const name of ['pid', 'exit']) writeFileSync(join(folder, name), content);
    return readLaunch(folder);
  });
  writeFileSync(join(folder, 'exit'), '{"code":0,"at":"yesterday"}');
  expect([...records, readLaunch(folder)]).toEqual(Array(contents.length + 1).fill({}));
});

test('a launch that runs is not given up', async () => {
  const job = await startJob('tree.sh', capabilities);
  const verdict = abandonLaunch(job.dir);
  const record = readLaunch(job.dir);
  await endTree(job, { graceMs: 5_000 });
  expect({ verdict, record }).toEqual({ verdict: 'started', record: { identity: job.identity } });
});

const kills = scale('Q-22', { test: 12, faults: 300, soak: 3_000 });
verifies('Q-22').test(
  `a launcher killed at any of ${kills} moments leaves a job that runs or one that never will`,
  async () => {
    const verdicts: string[] = [];
    for (let index = 0; index < kills; index += 1) verdicts.push(await killLauncherAfter((index * 24) / kills));
    const seen = new Set(verdicts);
    if (tier() !== 'test') expect(seen).toEqual(new Set(['abandoned', 'started']));
    expect(verdicts).toHaveLength(kills);
  },
  90_000 + kills * 2_000,
);

async function killLauncherAfter(ms: number): Promise<string> {
  const folder = temporaryFolder();
  const spec = jobSpec('tree.sh', folder);
  const launcher = startLauncher('durable', spec, capabilities);
  await lineOf(launcher, 0);
  const deadline = performance.now() + ms;
  while (performance.now() < deadline); // a timer would come too late
  launcher.kill('SIGKILL');
  const verdict = abandonLaunch(spec.dir);
  const { identity } = readLaunch(spec.dir);
  if (verdict === 'started' && identity) {
    await until('the job runs', () => textOf(join(spec.dir, 'out')) === 'ready\n');
    expect(adopt(identity)).toBe('alive');
    await endTree({ identity, tag: spec.tag }, { graceMs: 5_000 });
  } else {
    await until('its wrapper has given up', () => pidsNaming(spec.dir).length === 0);
    expect(textOf(join(spec.dir, 'out'))).toBe('');
  }
  expect(survivorsOf(spec.nonce)).toEqual([]);
  return verdict;
}

async function show(folder: string, more: Partial<Parameters<typeof jobSpec>[2]>) {
  const { args = [], ...rest } = more ?? {};
  const program = { file: process.execPath, args: [fixture('show-arguments.mjs'), ...args] };
  const spec = jobSpec('show-arguments.mjs', folder, { ...rest, ...program });
  const { code, out, err } = await runJob(spec, capabilities);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out);
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8);
}
