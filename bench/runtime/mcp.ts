import { loadTokenCounter } from '../../src/base/tokens.ts';
import { metaTools } from '../../src/runtime/mcp/meta/meta-tools.ts';
import { acquireRuntime, releaseRuntime } from '../../src/runtime/mcp/scope.ts';
import { SERVER, serverSpec, testFactory } from '../../test/support/runtime/mcp.ts';
import { median, printRows, quantile, timed } from '../measure.ts';

const WARM = 500;
const COLD = 15;
const REQUESTS = 100;
const SERVERS = 5;

/** a warm acquire against a start, and how often a request finds its server warm. */
export async function benchPool(): Promise<boolean> {
  await using factory = await testFactory();
  const use = async (name: string) => (await factory.acquire(serverSpec(name))).release();
  const cold: number[] = [];
  for (let n = 0; n < COLD; n += 1) cold.push(await timed(() => use(`cold-${n}`)));
  const warm: number[] = [];
  for (let n = 0; n < WARM; n += 1) warm.push(await timed(() => use('cold-0')));
  const before = factory.stats();
  for (let n = 0; n < REQUESTS; n += 1) await use(`server-${(n * 7) % SERVERS}`);
  const after = factory.stats();
  const hits = after.idle_hit + after.active_hit - before.idle_hit - before.active_hit;
  return printRows('MCP pool (R-151)', [
    {
      what: 'warm acquire, p99 · cold, median',
      ours: quantile(warm, 0.99),
      theirs: median(cold),
      unit: 'ms',
      target: { most: 0.1 },
    },
    { what: 'warm acquire, p99 · 200 ms', ours: quantile(warm, 0.99), theirs: 200, unit: 'ms', target: { most: 1 } },
    {
      what: `requests over ${SERVERS} servers found warm`,
      ours: hits,
      theirs: REQUESTS,
      unit: '',
      target: { least: 0.8 },
    },
  ]);
}

/** Servers wait for a network or a disk when they start; a processor of their own they do not have. */
const START_SECONDS = [0.4, 0.5, 0.6, 0.7];
const ROUNDS = 5;

/** R-150 (T2): four transitions to different servers at once against the slowest of them alone. */
export async function benchTransitions(): Promise<boolean> {
  await using factory = await testFactory({ pool: { idle_timeout_seconds: 0 } });
  const transition = async (seconds: number) => {
    const args = ['-c', `sleep ${seconds}; exec "$@"`, 'sh', process.execPath, SERVER];
    return await acquireRuntime(factory, [serverSpec(`starts-in-${seconds}`, { command: '/bin/sh', args })]);
  };
  const alone: number[] = [];
  const together: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const each: number[] = [];
    for (const seconds of START_SECONDS) {
      let scope = await acquireRuntime(factory, []);
      each.push(await timed(async () => (scope = await transition(seconds))));
      await releaseRuntime(scope);
    }
    alone.push(Math.max(...each));
    let scopes: Awaited<ReturnType<typeof transition>>[] = [];
    together.push(await timed(async () => (scopes = await Promise.all(START_SECONDS.map(transition)))));
    await Promise.all(scopes.map(releaseRuntime));
  }
  const target = { most: 1.5 };
  return printRows('Four transitions (R-150)', [
    { what: 'all at once · the slowest alone', ours: median(together), theirs: median(alone), unit: 'ms', target },
  ]);
}

/** what four servers with 120 tools cost in the prompt. */
export async function benchMetaTools(): Promise<boolean> {
  await using factory = await testFactory();
  const specs = ['github', 'jira', 'slack', 'files'].map((name) => serverSpec(name, { args: ['--tools', '23'] }));
  const runtime = await acquireRuntime(factory, specs);
  const inlined = [...runtime.servers.values()].flatMap(({ value }) =>
    value.tools.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema })),
  );
  const ours = metaTools(runtime).map(({ name, description, parameters }) => ({ name, description, parameters }));
  const { count } = await loadTokenCounter();
  return printRows(`Prompt cost of ${inlined.length} tools (R-152)`, [
    {
      what: 'meta-tools · inlined',
      ours: count(JSON.stringify(ours)),
      theirs: count(JSON.stringify(inlined)),
      unit: 'tokens',
      target: { most: 0.05 },
    },
  ]);
}
