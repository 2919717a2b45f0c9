import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { tier } from '../support/scale.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';
import { refusal } from './real.ts';
import { ADDS, byBlock, done, QUICK, RunsRig, SUBTRACTS, visitsOf, WRITES_IT_WRONG, writes } from './runs-rig.ts';

/** A run that needs a person: how it asks, on every surface, and every answer there is. */

let rig: RunsRig;
let mcp: Client;
beforeAll(async () => {
  rig = new RunsRig();
  rig.write({ '.reef/workflows.yaml': QUICK });
  await rig.trust();
  const args = [fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url)), 'mcp'];
  const env = Object.fromEntries(Object.entries(rig.world.env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
  mcp = new Client({ name: 'test', version: '1' });
  await mcp.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: rig.world.repository }));
});
afterEach(() => rig.clear());
afterAll(async () => {
  await mcp.close();
  await rig.close();
});

/** Subtracts, until a person says what is wrong. */
const LISTENS = [
  {
    choose: [
      { when: 'HUMAN_GUIDANCE', steps: [writes('sum.mjs', ADDS), done('Added.')] },
      { steps: [writes('sum.mjs', SUBTRACTS), done('Written.')] },
    ],
  },
];
const listener = () => rig.world.script('listens', LISTENS);

async function tool(name: string, input: Record<string, unknown>) {
  const { structuredContent, isError } = await mcp.callTool({ name, arguments: input });
  return { isError: isError === true, value: structuredContent as Record<string, unknown> };
}

interface Asked {
  runId?: string;
  header?: string;
  question: string;
  options: string[];
  questionId: string;
  askedAt: string;
}

function askedOverMcp(runId: string): Promise<Asked> {
  return until(`${runId} asks`, async () => {
    const { value } = await tool('inbox', {});
    return (value.questions as Asked[]).find((question) => question.runId === runId);
  });
}

verifies('W-30', 'W-31').test(
  'a halt is a question in every inbox, and resume takes guidance to the next agent',
  async () => {
    const { runId } = await rig.start({ task: 'write sum', agent: listener() });
    const asked = await askedOverMcp(runId);
    if (tier() !== 'test') expect(Date.now() - Date.parse(asked.askedAt)).toBeLessThan(1_000);
    const inbox = await rig.reef('inbox');
    expect([asked.options, asked.question.includes('-1 !== 5'), inbox.out.includes('-1 !== 5')]).toEqual([
      ['resume', 'retry', 'skip', 'abort'],
      true,
      true,
    ]);
    const { run, view } = await rig.settled(runId);
    expect([run.status, view.isHalted, view.halt?.block, view.halt?.visit]).toEqual(['halted', true, 'Quick__Test', 1]);
    expect((await rig.reef('run', 'show', runId)).code).toBe(3);
    const resumed = await rig.reef('run', 'resume', runId, 'Add, do not subtract');
    expect([resumed.code, resumed.err]).toEqual([0, '']);
    const after = await rig.settled(runId);
    expect([after.run.status, visitsOf(after.view)]).toEqual([
      'success',
      ['Write#1 SUCCESS', 'Test#1 FAILURE', 'Write#2 SUCCESS', 'Test#2 SUCCESS'],
    ]);
    const { jobId = '' } = after.view.executionLog['Quick__Write#2'] ?? {};
    const { calls } = await rig.world.client.call('calls', { job: jobId });
    expect(calls[0]?.request.prompt).toContain('Add, do not subtract');
    expect((await rig.world.client.call('inbox', {})).questions).toEqual([]);
  },
  90_000,
);

verifies('W-31', 'W-32').test(
  'retry does the same block once more; an answer for a moment that is past does nothing',
  async () => {
    const agent = rig.world.script('wrong', byBlock({ Quick__Write: WRITES_IT_WRONG }));
    const { runId } = await rig.start({ task: 'write sum', agent });
    const { run } = await rig.settled(runId);
    writeFileSync(join(run.path ?? '', 'sum.mjs'), ADDS);
    expect((await rig.reef('run', 'retry', runId)).code).toBe(0);
    const { view } = await rig.settled(runId);
    expect(visitsOf(view)).toEqual(['Write#1 SUCCESS', 'Test#1 FAILURE', 'Test#2 SUCCESS']);
    const late = await rig.reef('run', 'skip', runId, '--block', 'Quick__Test', '--visit', '1');
    const over = await rig.reef('run', 'retry', runId);
    expect([late.err.split(':')[0], over.err.split(':')[0]]).toEqual(['halt_already_answered', 'run_not_halted']);
    expect((await rig.settled(runId)).view).toEqual(view);
  },
  90_000,
);

verifies('W-32').test(
  'of ten answers at once one is taken, and its repeat by the same key is no error',
  async () => {
    const { runId } = await rig.start({ task: 'write sum', agent: listener() });
    const { view } = await rig.settled(runId);
    const { block = '', visit = 0 } = view.halt ?? {};
    const answer = (key: string) =>
      rig.world.client.call('run_control', { id: runId, verb: 'resume', guidance: key, block, visit, key });
    const said = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => answer(`answer-${n}`)));
    const taken = said.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []));
    expect(taken).toHaveLength(1);
    await answer(`answer-${taken[0]}`);
    expect(await refusal(answer('another'))).toBe('halt_already_answered');
    const after = await rig.settled(runId);
    expect(visitsOf(after.view).slice(2)).toEqual(['Write#2 SUCCESS', 'Test#2 SUCCESS']);
  },
  90_000,
);

verifies('W-30', 'W-31').test(
  'send answers a halt, from the shell and over MCP, and abort leaves the worktree alone',
  async () => {
    const { runId } = await rig.start({ task: 'write sum', agent: listener() });
    const asked = await askedOverMcp(runId);
    const sent = await tool('send', { id: runId, option: ['retry'], questionId: asked.questionId });
    expect(sent.isError).toBe(false);
    await rig.until(runId, (_, view) => view?.halt?.visit === 2);
    const resumed = await rig.reef('send', runId, 'Add them', '--option', 'resume');
    expect(resumed.code).toBe(0);
    expect((await rig.settled(runId)).run.status).toBe('success');

    const { runId: second } = await rig.start({ task: 'write sum again', agent: listener() });
    const { run } = await rig.settled(second);
    const bad = await rig.reef('send', second, '--option', 'approve');
    expect([bad.code !== 0, bad.err]).toEqual([true, expect.stringContaining('resume, retry, skip, abort')]);
    expect((await rig.reef('run', 'abort', second)).code).toBe(0);
    const ended = await rig.settled(second);
    const worktrees = await rig.json('worktree', 'list');
    expect([
      ended.run.status,
      (await rig.reef('run', 'show', second)).code,
      worktrees.worktrees.find(({ id }: { id: string }) => id === run.worktree)?.status,
    ]).toEqual(['aborted', 1, 'running']);
    expect(await refusal(rig.world.client.call('send', { id: second, option: ['resume'] }))).toBe('run_not_halted');
  },
  90_000,
);

verifies('W-31').test(
  'abort ends the agent of a run that goes on',
  async () => {
    const agent = rig.world.script('sleeps', [{ say: 'working' }, { sleep: 600_000 }]);
    const { runId } = await rig.start({ task: 'sleep', agent });
    const isOfRun = (job: JobView) => job.agent === agent && job.status === 'running';
    let job: JobView | undefined;
    while (!job) job = (await rig.world.client.call('status', {})).jobs.find(isOfRun);
    await rig.world.client.call('run_control', { id: runId, verb: 'abort' });
    await rig.world.until(job.id, ({ status }) => status === 'killed');
    expect((await rig.settled(runId)).run.status).toBe('aborted');
  },
  90_000,
);

verifies('W-34').test(
  'stepping asks before every block, and can be switched off and on midway',
  async () => {
    const agent = rig.world.script('right', byBlock({ Quick__Write: [writes('sum.mjs', ADDS), done('Written.')] }));
    const started = await rig.reef('run', 'write sum', '--agent', agent, '--step', '--wait');
    expect(started.code).toBe(3);
    const { run, view } = await rig.settled('@last');
    expect([view.halt?.block, view.halt?.reason, view.halt?.options.includes('approve'), visitsOf(view)]).toEqual([
      'Quick__Write',
      'awaiting_approval',
      true,
      [],
    ]);
    expect((await rig.reef('run', 'go', run.runId)).code).toBe(0);
    expect((await rig.reef('run', 'approve', run.runId)).code).toBe(0);
    expect((await rig.settled(run.runId)).run.status).toBe('success');

    const asks = rig.world.script('asks', [{ ask: { question: 'Ready?' } }, writes('sum.mjs', ADDS), done('Written.')]);
    const { runId } = await rig.start({ task: 'write sum', agent: asks });
    const waiting = await rig.settled(runId);
    expect(waiting.run.status).toBe('awaiting_input');
    expect((await rig.reef('run', 'step', runId)).code).toBe(0);
    const { questions } = await rig.world.client.call('inbox', {});
    const [question] = questions.filter((each) => each.runId === runId);
    expect((await rig.reef('send', question?.jobId ?? '', 'yes')).code).toBe(0);
    const stepped = await rig.until(runId, ({ status }) => status === 'halted');
    expect([stepped.view.halt?.block, stepped.view.halt?.reason]).toEqual(['Quick__Test', 'awaiting_approval']);
    expect((await rig.reef('run', 'approve', runId)).code).toBe(0);
    expect((await rig.settled(runId)).run.status).toBe('success');
  },
  90_000,
);

verifies('W-36').test(
  'a budget that is spent halts the run: one question to a person, none of its agent',
  async () => {
    const agent = rig.world.script('spends', [
      { usage: { input: 900, output: 200, partial: true } },
      { sleep: 600_000 },
      done('Never said.'),
    ]);
    const ran = await rig.reef('run', 'write sum', '--agent', agent, '--budget-tokens', '1000', '--wait');
    const { view } = await rig.settled('@last');
    expect([ran.code, view.halt?.block, view.halt?.reason, view.budget.limit.tokens]).toEqual([
      3,
      'Quick__Write',
      'budget_exhausted',
      1000,
    ]);
    expect(view.budget.spent.tokens).toBeGreaterThanOrEqual(1000);
    expect((await rig.world.client.call('inbox', {})).questions.map(({ header }) => header)).toEqual([
      'budget_exhausted',
    ]);
    expect((await rig.reef('run', 'abort', view.runId)).code).toBe(0);
  },
  90_000,
);
