import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { serve } from '../test/e2e/door-rig.ts';
import { makeWorld, type World } from '../test/e2e/harness.ts';
import { connectMcp } from '../test/support/surfaces/mcp-client.ts';
import { cpuMs, median, printRows, type Row, timed } from './measure.ts';

const REEF = join(import.meta.dirname, '../bin/reef.cjs');
const BARE = join(import.meta.dirname, 'bare-mcp-server.ts');
const JOBS = 20;
const EVENTS = 100;
const CALLS = 100;
const ROUNDS = 10;
/** The door lets so many calls through at once, and 200 a second for good. */
const REFILL_MS = (1_000 * CALLS) / 200;
const LEAST = 0.8;

type Tool = 'status' | 'output';
interface Call {
  what: string;
  name: Tool;
  arguments: Record<string, unknown>;
}

/** Tool calls a second, beside a server that has the same answers at hand: ours asks a daemon and its store. */
export async function benchMcp(): Promise<boolean> {
  const world = makeWorld();
  let bare: Bare | undefined;
  try {
    const calls = await prepare(world);
    const answers = join(world.root, 'answers.json');
    const stdio = await overStdio(world, [REEF, 'mcp']);
    writeFileSync(answers, JSON.stringify(await answersOf(stdio, calls)));
    const daemon = (await world.client.daemon())?.pid ?? 0;
    const rival = await overStdio(world, [BARE, answers]);
    const rows = await compare(calls, 'stdio', {
      ours: { client: stdio, pids: [daemon, pidOf(stdio)] },
      theirs: { client: rival, pids: [pidOf(rival)] },
    });
    const door = await serve(world);
    bare = await startBare(world, answers);
    for (const era of ['legacy', 'modern'] as const) {
      const ours = { client: await connectMcp({ ...door, era }), pids: [daemon] };
      const theirs = { client: await connectMcp({ port: bare.port, token: '', era }), pids: [bare.pid] };
      rows.push(...(await compare(calls, `HTTP, ${era}`, { ours, theirs })));
    }
    return printRows('MCP tool calls one after the other: Reef · a bare SDK server with the same answers', rows);
  } finally {
    bare?.end();
    await world.close();
  }
}

async function prepare(world: World): Promise<Call[]> {
  const agent = world.script('says', [{ flood: { events: EVENTS - 10 } }]);
  world.configure({ reef: { timings: { linger: 0 } } });
  let id = '';
  for (let n = 0; n < JOBS; n++) {
    id = (await world.client.call('spawn', { agent, task: `task ${n} of a bench` })).agentId;
    await world.until(id, (job) => job.endedAt !== undefined);
  }
  return [
    { what: `status of ${JOBS} jobs`, name: 'status', arguments: {} },
    { what: `output of ${EVENTS} events`, name: 'output', arguments: { id } },
  ];
}

async function overStdio({ env, repository: cwd }: World, args: string[]): Promise<Client> {
  const client = new Client({ name: 'bench', version: '0' });
  const set = Object.fromEntries(Object.entries(env).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, env: set }));
  return client;
}

interface Bare {
  port: number;
  pid: number;
  end(): void;
}

async function startBare({ env }: World, answers: string): Promise<Bare> {
  const child = spawn(process.execPath, [BARE, answers, 'http'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  return { port: Number(String(port)), pid: child.pid ?? 0, end: () => child.kill() };
}

async function answersOf(client: Client, calls: Call[]): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { name, arguments: args } of calls) {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    if (isError) throw new Error(`${name}: ${JSON.stringify(content)}`);
    answers[name] = { content, structuredContent };
  }
  return answers;
}

const pidOf = ({ transport }: Client) => (transport as StdioClientTransport).pid ?? 0;

interface Server {
  client: Client;
  /** All processes that work on an answer. */
  pids: number[];
}

/** In turns, so that both meet the same moods of the machine. Time of the processor depends less on who else is at work. */
async function compare(calls: Call[], over: string, pair: Record<'ours' | 'theirs', Server>): Promise<Row[]> {
  const rows: Row[] = [];
  for (const call of calls) {
    const spent = { ours: [] as number[], theirs: [] as number[] };
    const used = { ours: 0, theirs: 0 };
    for (let round = 0; round <= ROUNDS; round++) {
      if (over !== 'stdio') await sleep(REFILL_MS);
      for (const who of ['theirs', 'ours'] as const) {
        const before = cpuMs(...pair[who].pids);
        const ms = await timed(() => repeat(pair[who].client, call));
        if (round === 0) continue; // it warms both up
        spent[who].push(ms);
        used[who] += cpuMs(...pair[who].pids) - before;
      }
    }
    const rate = (who: keyof typeof pair) => (CALLS * 1_000) / median(spent[who]);
    const cpu = (who: keyof typeof pair) => used[who] / CALLS / ROUNDS;
    const what = `${call.what}, ${over}`;
    rows.push({ what, ours: rate('ours'), theirs: rate('theirs'), unit: 'calls/s', target: { least: LEAST } });
    rows.push({ what: '  processor time a call', ours: cpu('ours'), theirs: cpu('theirs'), unit: 'ms' });
  }
  await Promise.all([pair.ours.client.close(), pair.theirs.client.close()]);
  return rows;
}

async function repeat(client: Client, { name, arguments: args }: Call): Promise<void> {
  for (let n = 0; n < CALLS; n++) await client.callTool({ name, arguments: args });
}
