import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as McpClient } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'vitest';
import { jobDir } from '../../src/agents/sandbox.ts';
import { loadTokenCounter } from '../../src/base/tokens.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import type { Call } from '../../src/protocol/run-operations.ts';
import { artifactId } from '../../src/repostate/prompt/caps.ts';
import { eventually } from '../support/wait.ts';
import { type OneProduct, QUESTION } from './one-product-rig.ts';
import { visitsOf } from './runs-rig.ts';

/** What a person sees of the three agents and the fourth, on every surface. */

export const isIt = ({ question }: InboxEntry) => question === QUESTION;

export const texts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type === 'progress' && event.payload.kind === 'tool_result' ? [event.payload.text] : [],
  );

/** What the agent's own code tools told it last of the three functions; some agents ask for all at once, in any order. */
export function lookedUp(events: readonly AgentEvent[]): string[] {
  return ['alpha', 'beta', 'gamma'].map((name) => {
    const ids = events.flatMap(({ type, payload }) =>
      type === 'tool_call' &&
      payload.name.includes('get_symbol') &&
      JSON.stringify(payload.input).includes(`"name":"${name}"`)
        ? [payload.id]
        : [],
    );
    const told = events.flatMap(({ type, payload }) =>
      type === 'progress' && payload.kind === 'tool_result' && payload.id === ids.at(-1) ? [payload.text] : [],
    );
    return /=> \d/.exec(told.join())?.[0] ?? told.join();
  });
}

/** The job of each branch, by the agent that works there. */
export async function branches(rig: OneProduct, asked: readonly InboxEntry[]): Promise<Record<string, string>> {
  const jobs = await Promise.all(asked.map(({ jobId }) => rig.world.job(jobId)));
  return Object.fromEntries(jobs.map(({ agent, id }) => [agent, id]).sort());
}

export async function promptsOf(rig: OneProduct, runId: string): Promise<Call[]> {
  const { calls } = await rig.json('calls', 'list', '--run', runId);
  return calls;
}

/** Prompts of all jobs of a run, and of all turns of its coders; what was cut from them is there to be read. */
export async function expectBounded(
  rig: OneProduct,
  runId: string,
  { blocks, coders = [] }: { blocks: readonly string[]; coders?: readonly string[] },
): Promise<void> {
  const counter = await loadTokenCounter();
  const calls = await promptsOf(rig, runId);
  const tokens = calls.map(({ block, request }) => [block, counter.count(request.prompt)] as const).sort();
  const fixer = calls.find(({ block }) => block?.endsWith('__Fix'))?.jobId ?? '';
  const turns = await Promise.all([...coders, fixer].map((id) => rig.reef('state', 'calls', id)));
  const own = turns.map(({ out }) => Math.max(...[...out.matchAll(/own (\d+)/g)].map(([, count]) => Number(count))));
  process.stdout.write(
    `tokens handed over: ${tokens.map((each) => each.join(' ')).join(', ')}; own text of the coders: ${own.join(', ')}\n`,
  );
  const isBounded = (count: number) => count > 0 && count < 5_000;
  const counts = [...tokens.map(([, count]) => count), ...own];
  expect([counter.isExact, tokens.map(([block]) => block), counts.every(isBounded)]).toEqual([true, blocks, true]);
  const id = artifactId(rig.log);
  const naming = calls.filter(({ request }) => request.prompt.includes(`artifact_read "${id}"`));
  const read = await rig.reef('state', 'artifact', id, '--job', fixer);
  expect([
    naming.map(({ block }) => block).sort(),
    rig.log.length > 200_000,
    read.out.trimEnd() === rig.log.trimEnd(),
  ]).toEqual([blocks, true, true]);
}

/** The whole way, with one mending between two looks at the tests; the worktree it left. */
export async function finished(rig: OneProduct, runId: string): Promise<string> {
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

/** Until these jobs have done their work; what is kept stays open meanwhile. */
export async function completed(
  rig: OneProduct,
  {
    runId,
    jobIds,
    kept = isIt,
  }: { runId: string; jobIds: readonly string[]; kept?: (question: InboxEntry) => boolean },
): Promise<void> {
  for (const id of jobIds) {
    const { status, lastOutput } = await eventually(
      () => rig.tend(runId, kept).then(() => rig.world.job(id)),
      ({ activity }) => activity === 'ended',
    );
    expect([status, lastOutput]).toEqual(['completed', 'It is handed in.']);
  }
}

export function eventCounts(rig: OneProduct, jobIds: readonly string[]): Promise<number[]> {
  return Promise.all(jobIds.map(async (id) => (await rig.world.events(id)).length));
}

interface Sight {
  entry: InboxEntry | undefined;
  /** After the agent wrote the line that asks. */
  afterMs: number;
}

/** The question of a job on the command line and over MCP; both look before it is asked. */
export async function seenOnBoth(
  rig: OneProduct,
  jobId: string,
  release: () => Promise<void>,
): Promise<{ cli: Sight; mcp: Sight }> {
  const sight = async (look: () => Promise<unknown>): Promise<Sight> => {
    const [entry] = await eventually(
      async () => ((await look()) as { questions: InboxEntry[] }).questions.filter(isIt),
      (found) => found.length > 0,
    );
    return { entry, afterMs: Math.round(Date.now() - lastWord(rig, jobId)) };
  };
  const [cli, mcp] = await overMcp(rig, async (ask) => {
    const looks = Promise.all([sight(() => rig.json('inbox')), sight(() => ask('inbox', {}))]);
    await release();
    return looks;
  });
  process.stdout.write(
    `a question was seen after ${cli.afterMs} ms on the command line and ${mcp.afterMs} ms over MCP\n`,
  );
  return { cli, mcp };
}

/** When the agent wrote its last line: it says nothing while it waits. */
function lastWord(rig: OneProduct, jobId: string): number {
  const folder = jobDir(rig.world.home.dir, jobId);
  const outs = readdirSync(folder).map((launch) => join(folder, launch, 'out'));
  return Math.max(...outs.filter((file) => existsSync(file)).map((file) => statSync(file).mtimeMs));
}

/** A client of the user's own, over MCP. */
async function overMcp<T>(
  rig: OneProduct,
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
