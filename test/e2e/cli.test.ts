import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeWorld, type World } from './harness.ts';

/** The real command line, the real daemon, scripted agents: what a person types, and what happens. */
const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));

let world: World;
beforeAll(() => {
  world = makeWorld();
  world.configure({ timings: { linger: 0 } });
});
afterAll(async () => {
  await reef(['daemon', 'stop', '--kill-jobs']);
  await world.close();
});

interface Spoken {
  code: number;
  out: string;
  err: string;
}

function reef(args: string[], { cwd = world.repository, env = world.env } = {}): Promise<Spoken> {
  return new Promise((resolve) => {
    execFile(process.execPath, [REEF, ...args], { cwd, env, maxBuffer: 64 * 1_048_576 }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
    });
  });
}

async function json(...args: string[]) {
  const { out, err } = await reef([...args, '--json']);
  if (out === '') throw new Error(`reef ${args.join(' ')} said nothing: ${err}`);
  return JSON.parse(out);
}

const STORY = [
  { say: 'I will look around.' },
  { shell: ['echo', 'hello'] },
  { edit: { path: 'a.txt', content: 'one\ntwo\n' } },
  { ask: { question: 'Which database?', options: ['SQLite', 'Postgres'], as: 'db' } },
  { say: 'Took {db}.' },
  { permit: { tool: 'Bash', input: { command: 'rm -rf build' }, steps: [{ say: 'removed' }] } },
  { usage: { input: 1200, output: 300, costUsd: 0.02 } },
  { say: 'All done.' },
];

verifies('Q-08').test(
  'fifty commands at once on a cold home start one daemon',
  async () => {
    const pids = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { code, out, err } = await reef(['ps', '--json']);
        expect([code, out, err]).toEqual([0, '{"jobs":[]}\n', '']);
        return (await world.client.daemon())?.pid;
      }),
    );
    expect(new Set(pids).size).toBe(1);
  },
  120_000,
);

verifies('U-01', 'U-02', 'U-04', 'A-14', 'A-44').test(
  'a job is started, asked, answered, allowed and finished from the shell',
  async () => {
    const spawned = await reef(['spawn', world.script('story', STORY), 'set up the database']);
    expect([spawned.code, spawned.err.includes('reef output')]).toEqual([0, true]);
    const id = spawned.out.split(' ')[0] ?? '';
    expect((await reef(['wait', id, '--until', 'needs_input'])).code).toBe(0);
    const inbox = await reef(['inbox']);
    expect(inbox.out).toContain('Which database?\n           1  SQLite\n           2  Postgres\n');
    expect((await reef(['send', id.slice(0, 20), '--option', 'SQLite'])).code).toBe(0);

    const asked = await reef(['wait', '@last']);
    expect([asked.code, asked.out.includes('│ rm -rf build')]).toEqual([3, true]);
    const refused = await reef(['send', '@last', 'yes, go on']);
    expect([refused.code, refused.err.split(':')[0]]).toEqual([2, 'answer_needs_decision']);
    // Exactly what the question says to type.
    const command = /reef (send \S+ --question \S+ --allow)/.exec(asked.out)?.[1]?.split(' ') ?? [];
    expect((await reef(command)).code).toBe(0);

    expect((await reef(['wait', id])).code).toBe(0);
    const [job] = (await json('status', id)).jobs;
    expect(job).toMatchObject({
      status: 'completed',
      task: 'set up the database',
      usage: { input: 1200, costUsd: 0.02 },
    });
    const { out } = await reef(['output', id]);
    for (const words of [
      '$ echo hello',
      '± add a.txt',
      '+two',
      '? Which database?',
      ': SQLite',
      'Took SQLite.',
      'removed',
      'All done.',
    ]) {
      expect(out).toContain(words);
    }
    const raw = await reef(['output', id, '--raw']);
    expect(
      raw.out
        .split('\n')
        .filter(Boolean)
        .map((line) => typeof JSON.parse(line)),
    ).toContain('object');
    expect((await reef(['ps'])).out).toMatch(/completed .*1\.5k +\$0\.02 +set up the database/);
  },
);

verifies('U-02').test('scripts learn from the exit code', async () => {
  const fine = world.script('fine', [{ say: 'fine' }]);
  const bad = world.script('bad', [{ fail: { message: 'no luck' } }]);
  const asks = world.script('asks', [{ ask: { question: 'Go on?' } }]);
  expect((await reef(['spawn', fine, 't', '--wait'])).code).toBe(0);
  expect((await reef(['spawn', bad, 't', '--wait'])).code).toBe(1);
  const waiting = await reef(['spawn', asks, 't', '--wait', '--json']);
  expect([waiting.code, JSON.parse(waiting.out).questions[0].question]).toEqual([3, 'Go on?']);
  const killed = await json('kill', JSON.parse(waiting.out).id);
  expect(killed).toMatchObject({ status: 'killed' });
  const cases: [string[], number, string][] = [
    [['status', 'zzz'], 4, 'job_not_found'],
    [['send', '@last', 'hi'], 1, 'job_ended'],
    [['output', '@last', '--since', 'yesterday'], 2, 'bad_cursor'],
    [['spawn', 'nobody', 't'], 2, 'agent_unknown'],
    [['spawn', 'claude', 't'], 69, 'agent_not_installed'],
    [['spawn', 'scripted:none.yaml', 't'], 2, 'script_invalid'],
    [['attach', '@last'], 1, 'not_headful'],
  ];
  const env = { ...world.env, PATH: '/usr/bin:/bin' };
  for (const [args, code, error] of cases) {
    const spoken = await reef([...args, '--json'], { env });
    expect([args, spoken.code, JSON.parse(spoken.out).error.code]).toEqual([args, code, error]);
  }
});

verifies('U-01').test('following prints events as they come, to the end', async () => {
  const talk = world.script('talk', [{ say: 'one' }, { ask: { question: 'More?' } }, { say: 'two' }]);
  const { agentId } = await json('spawn', talk, 't');
  const follower = spawn(process.execPath, [REEF, 'output', agentId, '--follow', '--json'], {
    cwd: world.repository,
    env: world.env,
  });
  let out = '';
  follower.stdout.on('data', (chunk) => {
    out += chunk;
  });
  const exited = once(follower, 'exit');
  await expect.poll(() => out, { timeout: 20_000 }).toContain('More?');
  expect(out).not.toContain('two');
  await reef(['send', agentId, 'yes']);
  expect((await exited)[0]).toBe(0);
  const events = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events).toEqual(await world.events(agentId));
  const again = await reef(['spawn', talk, 't', '--follow']);
  expect([again.code, again.out.includes('? More?'), again.err.includes('--question')]).toEqual([3, true, true]);
  await reef(['kill', '@last']);
});

verifies('Q-38', 'Q-21').test('a question outlives the daemon', async () => {
  const { agentId } = await json(
    'spawn',
    world.script('patient', [{ ask: { question: 'Still there?' } }, { say: 'Good: {answer}' }]),
    't',
  );
  await reef(['wait', agentId, '--until', 'needs_input']);
  await world.killDaemon();
  const { questions } = await json('inbox');
  expect(questions).toMatchObject([{ jobId: agentId, question: 'Still there?' }]);
  await reef(['send', agentId, 'yes']);
  expect((await reef(['wait', agentId])).code).toBe(0);
  expect((await reef(['output', agentId])).out).toContain('Good: yes');
});

verifies('A-65', 'A-66').test('a turn is interrupted and the session resumed', async () => {
  const slow = world.script('slow', {
    steps: [{ say: 'begun' }, { sleep: 60_000 }],
    onResume: [{ say: 'resumed with {message}' }],
  });
  const { agentId } = await json('spawn', slow, 't', '--keep');
  await world.until(agentId, ({ lastOutput }) => lastOutput.includes('begun'));
  expect(await json('interrupt', agentId)).toMatchObject({ status: 'paused' });
  expect((await reef(['wait', agentId, '--until', 'idle'])).code).toBe(0);
  await reef(['kill', agentId]);
  expect((await reef(['resume', agentId])).err).toContain('not_resumable');
  const done = await json(
    'spawn',
    world.script('once', { steps: [{ say: 'first' }], onResume: [{ say: 'again: {message}' }] }),
    't',
    '--wait',
  );
  expect(done.status).toBe('completed');
  await reef(['resume', done.id, 'shorter']);
  expect((await reef(['wait', done.id])).code).toBe(0);
  expect((await reef(['output', done.id])).out).toContain('again: shorter');
});

verifies('A-142', 'U-10', 'U-11', 'U-13', 'U-14').test('each MCP tool works against the real daemon', async () => {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [REEF, 'mcp'],
    env: world.env as Record<string, string>,
    cwd: world.repository,
  });
  const client = new Client({ name: 'test', version: '0' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(transport);
  const call = async (name: string, args: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: args });
    expect([name, result.isError ?? false, result.content]).toEqual([
      name,
      false,
      [expect.objectContaining({ type: 'text' })],
    ]);
    return result.structuredContent as { agentId: string } & Record<string, unknown>;
  };
  try {
    const [story, sleep] = [world.script('mcp', STORY), world.script('wait', [{ sleep: 60_000 }])];
    const agents = { [story]: {}, [sleep]: {} };
    world.configure({ reef: { timings: { linger: 0 }, agents, mcp: { may: ['allow'] } } });
    const { agentId: id } = await call('spawn', { agent: story, task: 'over MCP' });
    const { jobs } = await call('wait', { ids: [id] });
    expect(jobs).toMatchObject([{ id, awaiting_input: true, questions: [{ options: ['SQLite', 'Postgres'] }] }]);
    expect(await call('send', { id, option: ['Postgres'] })).toMatchObject({ agentId: id, delivered: true });
    await call('wait', { ids: [id], until: ['needs_input'] });
    const { questions } = (await call('inbox', {})) as unknown as {
      questions: { questionId: string; fingerprint: string }[];
    };
    const { questionId, fingerprint } = questions[0] ?? {};
    await call('send', { id, questionId, fingerprint, decision: 'allow_once' });
    await call('wait', { ids: [id], until: ['done'] });
    expect(await call('status', { id })).toMatchObject({ jobs: [{ status: 'completed' }] });
    const page = (await call('output', { id })) as unknown as { events: { seq: number }[] };
    const seqs = (await world.events(id)).map(({ seq }) => seq);
    expect(page.events.filter(({ seq }) => !seqs.includes(seq))).toEqual([]);
    expect(page.events.at(-1)?.seq).toBe(seqs.at(-1));
    const { agentId: other } = await call('spawn', { agent: sleep, task: 'sleep' });
    await world.until(other, ({ status, activity }) => status === 'running' && activity === 'working');
    expect(await call('interrupt', { id: other })).toMatchObject({ agentId: other });
    expect(await call('kill', { id: other })).toMatchObject({ agentId: other, status: 'killed' });
    expect(await call('resume', { id, text: 'once more' })).toMatchObject({ agentId: id });
    await call('kill', { id });
  } finally {
    await client.close();
  }
});

verifies('Q-31').test('an MCP server that is killed ends no job', async () => {
  const server = spawn(process.execPath, [REEF, 'mcp'], {
    cwd: world.repository,
    env: world.env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const { agentId } = await json('spawn', world.script('lasting', [{ ask: { question: 'Here?' } }]), 't');
  server.stdin.write(
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n' +
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"ids":["${agentId}"],"until":["done"]}}}\n`,
  );
  await once(server.stdout, 'data');
  server.kill('SIGKILL');
  await once(server, 'exit');
  const job = await world.until(agentId, ({ status }) => status === 'awaiting_input');
  expect(job.questions).toHaveLength(1);
  await reef(['kill', agentId]);
});

verifies('Q-21', 'U-06').test('the daemon stops and leaves its jobs, or takes them along when told', async () => {
  const { agentId } = await json('spawn', world.script('outlives', [{ ask: { question: 'Alone?' } }]), 't');
  const { pid } = await world.until(agentId, ({ status }) => status === 'awaiting_input');
  expect((await reef(['daemon', 'stop'])).out).toBe('stopped\n');
  expect((await reef(['daemon', 'status'])).code).toBe(69);
  const isAlive = () => existsSync(`/proc/${pid}`);
  expect(isAlive()).toBe(true);
  expect((await json('inbox')).questions).toMatchObject([{ jobId: agentId }]);
  expect((await reef(['daemon', 'stop', '--kill-jobs'])).code).toBe(0);
  await expect.poll(isAlive, { timeout: 10_000 }).toBe(false);
});

verifies('Q-101', 'Q-102', 'U-06').test('doctor finds a used home well, with the daemon and without', async () => {
  for (const command of [['ps'], ['daemon', 'stop']]) {
    await reef(command);
    const { findings } = await json('doctor');
    const home = findings.filter(({ check }: { check: string }) =>
      ['home', 'socket', 'daemon', 'path'].includes(check),
    );
    expect(home.filter(({ severity }: { severity: string }) => severity !== 'ok')).toEqual([]);
  }
  const outside = await reef(['doctor'], { cwd: '/', env: { ...world.env, REEF_HOME: '' } });
  expect([outside.code, /error home .*\n.*not inside a git repository/.test(outside.out)]).toEqual([1, true]);
});

verifies('Q-08').test('a command from a sub-folder or a worktree reaches the same home', async () => {
  const { mkdir, writeFile } = await import('node:fs/promises');
  const deep = join(world.repository, 'src', 'deep');
  await mkdir(deep, { recursive: true });
  const linked = join(world.root, 'linked');
  await mkdir(linked);
  await writeFile(join(linked, '.git'), `gitdir: ${world.repository}/.git/worktrees/linked\n`);
  const homes = [];
  for (const cwd of [world.repository, deep, linked]) {
    homes.push(JSON.parse((await reef(['daemon', 'status', '--json'], { cwd })).out).home);
  }
  expect(new Set(homes)).toEqual(new Set([world.home.dir]));
  const { agentId } = JSON.parse(
    (await reef(['spawn', world.script('where', [{ say: 'here' }]), 't', '--json'], { cwd: linked })).out,
  );
  expect((await world.job(agentId)).cwd).toBe(linked);
});
