import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { jobSocketDir } from '../../src/agents/sandbox.ts';
import { verifies } from '../support/verifies.ts';
import { ADDS, done, RunsRig, usersOwn, visitsOf, writes } from './runs-rig.ts';

/** The agents of a run: how they hand in results, what is logged of them, and branches beside each other. */

const FLOW = `
start: Plan
nodes:
  Plan:
    entry_block: Plan__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: JUMP:Plan__Files }
          - { on_signal: SIGNAL:LATER, action: HALT_AND_FLAG }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      Files:
        worker: Internal:FileSystemWriter
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: JUMP:Plan__Note }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      Note:
        worker: Internal:UpdateChangePlan
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
  Both:
    entry_block: Both__Begin
    context_inheritance: true
    blocks:
      Begin:
        worker: Internal:FileSystemWriter
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: "FORK:Left,Right:Both__Test", join: all, isolation: worktree }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
      Test:
        worker: Internal:TestRunner
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
  Left:
    entry_block: Left__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
  Right:
    entry_block: Right__Write
    context_inheritance: true
    blocks:
      Write:
        worker: Agent:coder
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAIL_DEFAULT, action: HALT_AND_FLAG }
`;

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig();
  rig.write({ '.reef/workflows.yaml': FLOW });
  await rig.trust();
});
afterEach(() => rig.clear());
afterAll(() => rig.close());

/** `reef mcp` as an agent starts it: through the socket that is its job's own. */
async function asJob<T>(jobId: string, work: (client: Client) => Promise<T>): Promise<T> {
  const args = [fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url)), 'mcp'];
  const socket = join(jobSocketDir(rig.world.home.sockets, jobId), 'sock');
  const env = { PATH: process.env.PATH ?? '', HOME: rig.world.env.HOME ?? '', REEF_SOCKET: socket };
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: rig.world.repository }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

verifies('W-47', 'W-48', 'W-53', 'W-54', 'W-60', 'W-61', 'W-64').test(
  'a question of an agent waits in the same inbox, and its result through its own MCP server is checked at the call',
  async () => {
    const agent = rig.world.script('asks', [
      { ask: { question: 'Which way?', options: ['left', 'right'] } },
      { say: 'I handed it in.\nSIGNAL:LATER' },
    ]);
    const task = 'Write sum\n\n## How\n\nWith a plus.';
    const { runId } = await rig.start({ task, agent, plan: ['sum.mjs'] });
    const { run } = await rig.settled(runId);
    const { questions } = await rig.world.client.call('inbox', {});
    const [asked] = questions;
    expect([run.status, questions.map((each) => [each.runId, each.question])]).toEqual([
      'awaiting_input',
      [[runId, 'Which way?']],
    ]);
    const jobId = asked?.jobId ?? '';
    // Whoever looks sees what was asked for; the prompt made of it is for the agent.
    const waited = await rig.world.client.call('wait', { ids: [jobId] });
    expect([asked?.task, (await rig.world.job(jobId)).task, waited.jobs[0]?.task]).toEqual([task, task, task]);
    expect((await rig.reef('inbox')).out).toContain('With a plus.');
    const segments = [{ type: 'CODE_OUTPUT', content: { filePath: 'sum.mjs', fileContent: ADDS } }];
    const result = { signal: 'SIGNAL:SUCCESS', summary: 'Adds.', segments, newFiles: ['docs/sum.md'] };
    const answers = await asJob(jobId, async (client) => {
      const { tools } = await client.listTools();
      const call = (input: Record<string, unknown>) => client.callTool({ name: 'block_result', arguments: input });
      const wrong = await call({ ...result, signal: 'SIGNAL:NEVER_HEARD_OF' });
      const right = await call(result);
      return { isTool: tools.some(({ name }) => name === 'block_result'), wrong, right };
    });
    expect([answers.isTool, answers.wrong.isError, JSON.stringify(answers.wrong).includes('result_invalid')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(answers.right.structuredContent).toEqual({ taken: true });
    await rig.world.client.call('send', { id: jobId, option: ['left'] });
    const after = await rig.settled(runId);
    expect([after.run.status, visitsOf(after.view)]).toEqual([
      'success',
      ['Write#1 SUCCESS', 'Files#1 SUCCESS', 'Note#1 SUCCESS'],
    ]);
    const { worktrees } = await rig.world.client.call('worktrees', {});
    expect([
      readFileSync(join(run.path ?? '', 'sum.mjs'), 'utf8'),
      worktrees.find(({ id }) => id === run.worktree)?.changePlan,
    ]).toEqual([
      ADDS,
      [
        { path: 'sum.mjs', origin: 'declared' },
        { path: 'docs/sum.md', origin: 'discovered' },
      ],
    ]);
  },
  90_000,
);

verifies('W-82', 'W-83', 'W-84').test(
  'calls are listed, shown, and repeated beside their first answer; a replay starts nothing',
  async () => {
    const agent = rig.world.script('counts', [
      {
        choose: [
          { when: 'Say hello', steps: [{ say: 'Hello.' }] },
          {
            steps: [
              writes('sum.mjs', ADDS),
              { usage: { input: 1200, output: 30, costUsd: 0.01 } },
              done('Written with key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789.'),
            ],
          },
        ],
      },
    ]);
    const { runId } = await rig.start({ task: 'write sum', agent });
    const { run, view } = await rig.settled(runId);
    const { calls } = await rig.json('calls', 'list', '--run', runId);
    const { jobId = '' } = view.executionLog['Plan__Write#1'] ?? {};
    expect(calls).toEqual([
      {
        callId: `${jobId}:1`,
        timestamp: expect.stringMatching(/^\d{4}-/),
        runId,
        block: 'Plan__Write',
        visit: 1,
        jobId,
        request: {
          provider: agent,
          model: null,
          prompt: expect.stringContaining('write sum'),
          params: expect.any(Object),
        },
        response: {
          content: expect.stringMatching(/^Written with key /),
          tokensUsed: { input: 1200, output: 30 },
          durationMs: expect.any(Number),
        },
        failovers: [],
      },
    ]);
    expect(calls[0].response.content).not.toContain('sk-ant-api03-abcdefgh');
    const shown = await rig.reef('calls', 'show', `${jobId}:1`);
    expect([shown.code, shown.out.includes('write sum'), shown.out.includes('SIGNAL:SUCCESS')]).toEqual([
      0,
      true,
      true,
    ]);

    const before = [(await rig.look(runId)).view, await rig.world.client.call('diff', { id: run.worktree })];
    const rerun = await rig.json('calls', 'rerun', `${jobId}:1`, '--edit', 'Say hello');
    expect([rerun.before.callId, rerun.after.response.content, rerun.after.runId]).toEqual([
      `${jobId}:1`,
      'Hello.',
      null,
    ]);
    expect([(await rig.look(runId)).view, await rig.world.client.call('diff', { id: run.worktree })]).toEqual(before);

    const jobsBefore = (await rig.world.client.call('status', {})).jobs.length;
    const replayed = await rig.reef('run', 'replay', runId);
    expect([replayed.code, replayed.out, (await rig.world.client.call('status', {})).jobs.length]).toEqual([
      0,
      'The replay ends as recorded: success\n',
      jobsBefore,
    ]);
  },
  90_000,
);

verifies('W-25', 'W-26').test(
  'branches of a fork work in worktrees of their own and are merged back in declared order',
  async () => {
    const agent = rig.world.script('both', [
      {
        choose: [
          { when: 'Left__Write, visit', steps: [writes('sum.mjs', ADDS), done('Left.')] },
          { when: 'Right__Write, visit', steps: [writes('right.txt', 'right\n'), done('Right.')] },
        ],
      },
    ]);
    const own = usersOwn(rig);
    const { runId } = await rig.start({ task: 'write both', workflow: 'Both', agent });
    const { run, view } = await rig.settled(runId);
    expect([run.status, view.halt?.message, view.gates.map(({ result }) => result)]).toEqual([
      'success',
      undefined,
      ['passed'],
    ]);
    expect(view.path.map(({ block, branch }) => `${branch} ${block}`).sort()).toEqual([
      'main Both__Begin',
      'main Both__Test',
      'main.1 Left__Write',
      'main.2 Right__Write',
    ]);
    const { files } = await rig.world.client.call('diff', { id: run.worktree });
    expect(files.map(({ path }) => path).sort()).toEqual(['right.txt', 'sum.mjs']);
    const { worktrees } = await rig.world.client.call('worktrees', {});
    expect([worktrees.map(({ id }) => id), usersOwn(rig)]).toEqual([[run.worktree], own]);
    expect((await rig.reef('worktree', 'accept', run.worktree)).code).toBe(0);
    rig.git('reset', '-q', '--hard', 'HEAD~1');
  },
  90_000,
);

verifies('W-63').test(
  'an agent that gives no result is asked twice to correct itself, by the same job',
  async () => {
    const agent = rig.world.script('unsure', {
      steps: [{ say: 'I am done, I think.' }],
      onResume: [{ say: 'Really done.' }],
      onMessage: [{ say: 'Really.' }],
    } as never);
    const { runId } = await rig.start({ task: 'write sum', agent });
    const { view } = await rig.settled(runId);
    const log = view.executionLog['Plan__Write#1'];
    expect([view.halt?.reason, log?.signal, log?.segments.map(({ type }) => type)]).toEqual([
      'halted_by_workflow',
      'SIGNAL:VALIDATION_FAIL',
      ['AGENT_OUTPUT', 'VALIDATION_ERROR'],
    ]);
    const { calls } = await rig.world.client.call('calls', { run: runId });
    expect(
      calls.map(({ jobId, request }) => [
        jobId === log?.jobId,
        request.prompt.startsWith('Your answer cannot be used'),
      ]),
    ).toEqual([
      [true, true],
      [true, true],
      [true, false],
    ]);
  },
  90_000,
);

verifies('W-60').test(
  'a run that is asked for twenty times with one key is one run in one worktree',
  async () => {
    const agent = rig.world.script('once', [writes('sum.mjs', ADDS), done('Written.')]);
    const order = { task: 'write sum', agent, key: 'only-one' };
    const runs = await Promise.all(Array.from({ length: 20 }, () => rig.start(order)));
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1);
    await rig.settled(runs[0]?.runId ?? '');
    const again = await rig.json('run', 'another task', '--agent', agent, '--key', 'only-one');
    const { worktrees } = await rig.world.client.call('worktrees', {});
    expect([again.runId, worktrees.length]).toEqual([runs[0]?.runId, 1]);
  },
  90_000,
);
