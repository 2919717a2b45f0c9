import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as McpClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { jobDir } from '../../src/agents/launcher.ts';
import { loadTokenCounter } from '../../src/base/tokens.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import type { Call } from '../../src/protocol/run-operations.ts';
import { artifactId } from '../../src/repostate/prompt/caps.ts';
import { tier } from '../scale.ts';
import { verifies } from '../verifies.ts';
import { isHolding, MENDED, OneProduct, QUESTION } from './one-product-rig.ts';
import { eventually, installed, refusal } from './real.ts';
import { leftovers, usersOwn, visitsOf } from './runs-rig.ts';

/** The five systems as one: one workflow, Claude Code, Codex and Reef's own coder beside each other, on one repository. */

const TEST_MS = 240_000;
const BLOCKS = ['Alpha__Mend', 'Beta__Mend', 'Gamma__Mend', 'Mend__Fix'];

const SOURCES = ['alpha.mjs', 'beta.mjs', 'gamma.mjs', 'total.mjs'];

let rig: OneProduct;
let start: string;
beforeAll(async () => {
  rig = await OneProduct.open(artifactId);
  start = rig.git('rev-parse', 'HEAD');
});
afterEach(async () => {
  await rig.clear();
  rig.git('reset', '-q', '--hard', start);
});
afterAll(() => rig.close());

const texts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'progress' && event.payload.kind === 'tool_result' ? [event.payload.text] : [],
  );

/** The job of each branch, by the agent that works there. */
async function branches(asked: readonly InboxEntry[]): Promise<Record<string, string>> {
  const jobs = await Promise.all(asked.map(({ jobId }) => rig.world.job(jobId)));
  return Object.fromEntries(jobs.map(({ agent, id }) => [agent, id]).sort());
}

/** What the code tools say of the three functions, asked as a job asks. */
async function seenBy(jobId: string): Promise<string[]> {
  const door = rig.door(jobId);
  const looks = ['alpha', 'beta', 'gamma'].map(async (name) => {
    const found = await door.call('get_symbol', { name, include_source: true });
    return /=> \d/.exec(JSON.stringify(found))?.[0] ?? JSON.stringify(found);
  });
  return Promise.all(looks);
}

async function promptsOf(runId: string): Promise<Call[]> {
  const { calls } = await rig.json('calls', 'list', '--run', runId);
  return calls;
}

async function finished(runId: string): Promise<string> {
  await rig.tend(runId);
  const { run, view } = await rig.settled(runId);
  expect([
    run.status,
    view.halt?.message,
    visitsOf(view).filter((visit) => /^(?:Look|Again|Test|Fix)/.test(visit)),
  ]).toEqual([
    'success',
    undefined,
    ['Look#1 FAILURE', 'Again#1 FAILURE', 'Test#1 FAILURE', 'Fix#1 SUCCESS', 'Test#2 SUCCESS'],
  ]);
  return run.worktree;
}

/** Prompts of all jobs of a run, and of all turns of its coders; what was cut from them is there to be read. */
async function expectBounded(runId: string, coder: string): Promise<void> {
  const counter = await loadTokenCounter();
  const calls = await promptsOf(runId);
  const tokens = calls.map(({ block, request }) => [block, counter.count(request.prompt)] as const).sort();
  const fixer = calls.find(({ block }) => block === 'Mend__Fix')?.jobId ?? '';
  const turns = await Promise.all([coder, fixer].map((id) => rig.reef('state', 'calls', id)));
  const own = turns.map(({ out }) => Math.max(...[...out.matchAll(/own (\d+)/g)].map(([, count]) => Number(count))));
  process.stdout.write(
    `tokens handed over: ${tokens.map((each) => each.join(' ')).join(', ')}; own text of the coders: ${own.join(', ')}\n`,
  );
  const isBounded = (count: number) => count > 0 && count < 5_000;
  const counts = [...tokens.map(([, count]) => count), ...own];
  expect([counter.isExact, tokens.map(([block]) => block), counts.every(isBounded)]).toEqual([true, BLOCKS, true]);
  const id = artifactId(rig.log);
  const naming = calls.filter(({ request }) => request.prompt.includes(`artifact_read "${id}"`));
  const read = await rig.reef('state', 'artifact', id, '--job', coder);
  expect([
    naming.map(({ block }) => block).sort(),
    rig.log.length > 200_000,
    read.out.trimEnd() === rig.log.trimEnd(),
  ]).toEqual([BLOCKS, true, true]);
}

verifies('C-004', 'U-16', 'S-29', 'S-37', 'S-38', 'W-25', 'W-26', 'W-60')
  .needs(...installed('claude', 'codex'))
  .test(
    'three kinds of agent mend a project side by side, each sees its own worktree, a fourth mends what they broke together, and it is merged',
    async () => {
      const own = usersOwn(rig);
      const runId = await rig.mend('together');
      const asked = await rig.tend(runId, isHolding, 3);
      const jobs = await branches(asked);
      expect(Object.keys(jobs)).toEqual(['claude', 'codex', 'native:coder']);
      const { claude = '', codex = '', 'native:coder': coder = '' } = jobs;

      const seen = await Promise.all([claude, codex, coder].map(seenBy));
      expect(seen).toEqual([
        ['=> 1', '=> 0', '=> 0'],
        ['=> 0', '=> 2', '=> 0'],
        ['=> 0', '=> 0', '=> 3'],
      ]);
      const [mine, other] = [await rig.world.job(claude), await rig.world.job(codex)];
      const link = join(mine.cwd, 'link.mjs');
      symlinkSync(join(other.cwd, 'beta.mjs'), link);
      const outline = (input: { file_path: string; worktree?: string }) =>
        rig.door(claude).call('get_file_outline', input);
      expect([
        new Set([mine.cwd, other.cwd, rig.world.repository]).size,
        await refusal(outline({ file_path: join(other.cwd, 'beta.mjs') })),
        await refusal(outline({ file_path: 'link.mjs' })),
        await refusal(outline({ file_path: 'beta.mjs', worktree: other.worktree ?? '' })),
      ]).toEqual([3, 'path_outside_worktree', 'path_outside_worktree', 'not_yours']);
      rmSync(link);

      const worktree = await finished(runId);
      const results = await Promise.all(
        [claude, codex, coder].map(async (id) => texts(await rig.world.events(id)).join('\n')),
      );
      expect(results.map((text) => text.includes('the needle: total.mjs subtracts'))).toEqual([true, true, true]);
      await expectBounded(runId, coder);
      expect([usersOwn(rig), (await rig.json('worktree', 'accept', worktree)).status]).toEqual([own, 'merged']);
      expect([rig.treeAt('HEAD'), leftovers(rig)]).toEqual([MENDED, []]);
    },
    TEST_MS,
  );

/** When the coder wrote its last line: it says nothing while it waits. */
function lastWord(jobId: string): number {
  const folder = jobDir(rig.world.home.dir, jobId);
  const outs = readdirSync(folder).map((launch) => join(folder, launch, 'out'));
  return Math.max(...outs.filter((file) => existsSync(file)).map((file) => statSync(file).mtimeMs));
}

/** A client of the user's own, over MCP. */
async function overMcp<T>(
  work: (ask: (tool: string, input: Record<string, unknown>) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const args = [fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url)), 'mcp'];
  const { repository: cwd, env } = rig.world;
  const client = new McpClient({ name: 'user', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd, env: env as Record<string, string> }),
  );
  try {
    return await work(async (name, input) => (await client.callTool({ name, arguments: input })).structuredContent);
  } finally {
    await client.close();
  }
}

const isIt = ({ question }: InboxEntry) => question === QUESTION;

/** Until these jobs have done their work; what is kept stays open meanwhile. */
async function completed(runId: string, jobIds: readonly string[], kept = isIt): Promise<void> {
  for (const id of jobIds) {
    const { status, lastOutput } = await eventually(
      () => rig.tend(runId, kept).then(() => rig.world.job(id)),
      ({ activity }) => activity === 'ended',
    );
    expect([status, lastOutput]).toEqual(['completed', 'It is handed in.']);
  }
}

verifies('W-64')
  .needs(...installed('claude', 'codex'))
  .test(
    'a question of one of the three is at once in the inbox of every surface, the others go on, and the answer reaches it',
    async () => {
      const runId = await rig.mend('question');
      const holding = await rig.tend(runId, isHolding, 3);
      const { claude = '', codex = '', 'native:coder': coder = '' } = await branches(holding);
      const sight = async (look: () => Promise<unknown>) => {
        const [entry] = await eventually(
          async () => ((await look()) as { questions: InboxEntry[] }).questions.filter(isIt),
          (found) => found.length > 0,
        );
        return { entry, afterMs: Math.round(Date.now() - lastWord(coder)) };
      };
      const [cli, mcp] = await overMcp(async (ask) => {
        const looks = Promise.all([sight(() => rig.json('inbox')), sight(() => ask('inbox', {}))]);
        for (const question of holding) if (question.jobId === coder) await rig.answer(question);
        return looks;
      });
      process.stdout.write(
        `a question was seen after ${cli.afterMs} ms on the command line and ${mcp.afterMs} ms over MCP\n`,
      );
      if (tier() !== 'test') expect(Math.max(cli.afterMs, mcp.afterMs)).toBeLessThan(5_000);
      const chain = {
        question: QUESTION,
        jobId: coder,
        runId,
        path: [coder],
        agent: 'native:coder',
        options: ['yes', 'no'],
      };
      expect([cli.entry, mcp.entry]).toMatchObject([chain, chain]);

      const before = await Promise.all([claude, codex].map(async (id) => (await rig.world.events(id)).length));
      for (const question of holding) if (question.jobId !== coder) await rig.answer(question);
      await completed(runId, [claude, codex]);
      const after = await Promise.all([claude, codex].map(async (id) => (await rig.world.events(id)).length));
      const { status, questions } = await rig.world.job(coder);
      expect((await rig.look(runId)).runs[0]?.status).toBe('awaiting_input');
      expect([
        after.map((count, n) => count > (before[n] ?? 0)),
        status,
        questions.map(({ question }) => question),
      ]).toEqual([[true, true], 'awaiting_input', [QUESTION]]);

      expect((await rig.reef('send', coder, '--option', 'yes')).code).toBe(0);
      await finished(runId);
      expect(texts(await rig.world.events(coder)).slice(-2)).toEqual(['yes', expect.any(String)]);
    },
    TEST_MS,
  );

verifies('T-13', 'T-23', 'T-32').test(
  'a merge waits for the checkout of the user, completes by itself when it is clean, and lets go who waited for it',
  async () => {
    const { runId } = await rig.start({ task: 'mend all', workflow: 'Solo', plan: SOURCES });
    const { run } = await rig.settled(runId);
    expect(run.status).toBe('success');
    const reads = rig.world.script('reads', [{ shell: ['cat', 'gamma.mjs'] }, { say: 'Done.' }]);
    const waiter = await rig.json('spawn', reads, 'read gamma', '--worktree', '--plan', 'gamma.mjs');
    rig.write({ 'notes.txt': 'half a thought,\r\nmine\n' });
    const own = usersOwn(rig);
    const pending = await rig.json('worktree', 'accept', run.worktree, '--when-clean');
    expect([pending.status, pending.waiting, usersOwn(rig)]).toEqual([
      'pending',
      { code: 'target_dirty', checkout: rig.world.repository, files: ['notes.txt'], command: expect.any(String) },
      own,
    ]);
    expect((await rig.world.job(waiter.agentId)).status).toBe('queued');

    rig.git('commit', '-qam', 'a thought of mine');
    const { cwd } = await rig.world.until(waiter.agentId, ({ status }) => status === 'completed', 60_000);
    expect(rig.treeAt('HEAD')).toEqual({ ...MENDED, 'notes.txt': 'half a thought,\r\nmine\n' });
    expect(rig.git('status', '--porcelain', '-uno')).toBe('');
    expect(readFileSync(join(rig.world.repository, 'notes.txt'), 'utf8')).toBe('half a thought,\r\nmine\n');
    expect([texts(await rig.world.events(waiter.agentId)), readFileSync(join(cwd, 'gamma.mjs'), 'utf8')]).toEqual([
      [MENDED['gamma.mjs']],
      MENDED['gamma.mjs'],
    ]);
  },
  TEST_MS,
);

verifies('W-60', 'W-77')
  .needs(...installed('claude', 'codex'))
  .test(
    'a daemon killed while the three work, and again while the fourth does, changes nothing of what is merged',
    async () => {
      const runId = await rig.mend('killed');
      const holding = await rig.tend(runId, isHolding, 3);
      const { claude = '', codex = '', 'native:coder': coder = '' } = await branches(holding);
      for (const question of holding) if (question.jobId !== claude) await rig.answer(question);
      const pids = [await rig.world.killDaemon()];
      await completed(runId, [codex], (question) => isIt(question) || question.jobId === claude);
      expect(await seenBy(claude)).toEqual(['=> 1', '=> 0', '=> 0']);
      for (const question of holding) if (question.jobId === claude) await rig.answer(question);
      await completed(runId, [claude]);
      await rig.world.client.call('send', { id: coder, option: ['yes'] });
      await rig.until(runId, (_run, view) => view?.position?.block === 'Mend__Fix');
      pids.push(await rig.world.killDaemon());
      const worktree = await finished(runId);
      expect([
        new Set([...pids, (await rig.world.client.daemon())?.pid]).size,
        (await promptsOf(runId)).map(({ block }) => block).sort(),
      ]).toEqual([3, BLOCKS]);
      expect((await rig.json('worktree', 'accept', worktree)).status).toBe('merged');
      expect([rig.treeAt('HEAD'), leftovers(rig)]).toEqual([MENDED, []]);
    },
    TEST_MS,
  );
