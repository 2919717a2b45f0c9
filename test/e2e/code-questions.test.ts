import { execFile } from 'node:child_process';
import { globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { jobSocketPath } from '../../src/agents/sandbox.ts';
import { loadTokenCounter } from '../../src/base/tokens.ts';
import { codeQueries } from '../../src/protocol/code-operations.ts';
import { namesIn } from '../support/context/names-in.ts';
import { verifies } from '../support/verifies.ts';
import { byBlock, done, QUICK, RunsRig, writes } from './runs-rig.ts';

/** Questions about code, asked of the real daemon: by people from the command line and by agents through their door. */

const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const FILES = {
  'package.json': '{"type":"module","scripts":{"test":"node --check src/cart.js"}}\n',
  'src/price.js': 'export function roundPrice(value) {\n  return Math.round(value);\n}\n',
  'src/cart.js': "import { roundPrice } from './price.js';\nexport const total = (n) => roundPrice(n);\n",
};

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig(FILES);
  rig.write({ '.reef/workflows.yaml': QUICK });
  await rig.trust();
});
afterAll(() => rig.close());

async function worktree(title: string, files: Record<string, string> = {}): Promise<{ id: string; path: string }> {
  const made = await rig.world.client.call('worktree_create', { title, plan: [`${title}.txt`] });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(made.path ?? '', name), content);
  return { id: made.id, path: made.path ?? '' };
}

async function idsOf(name: string, ...where: string[]): Promise<string[]> {
  const { symbols } = await rig.json('code', 'symbol', name, '--complete', ...where);
  return symbols.map(({ id }: { id: string }) => id);
}

/** Of this test's repository alone: the machine may run others. */
function analysisServers(of = rig.world.root): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
      return /^\d+$/.test(name) && command.includes(of) && command.includes('code.db') ? [Number(name)] : [];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

verifies('C-001', 'C-003', 'C-031').test(
  'each checkout answers for itself: what is defined in one worktree is unknown in the others',
  async () => {
    const one = await worktree('one', { 'src/price.js': 'export const onlyInOne = 1;\n' });
    const two = await worktree('two', { 'src/extra.js': 'export const onlyInTwo = 2;\n' });
    const everywhere = async (name: string) => ({
      main: await idsOf(name),
      one: await idsOf(name, '--worktree', one.id),
      two: await idsOf(name, '--worktree', two.path),
    });
    const price = ['src/price.js#roundPrice:1'];
    expect(await everywhere('roundPrice')).toEqual({ main: price, one: [], two: price });
    expect(await everywhere('onlyInOne')).toEqual({ main: [], one: ['src/price.js#onlyInOne:1'], two: [] });
    expect(await everywhere('onlyInTwo')).toEqual({ main: [], one: [], two: ['src/extra.js#onlyInTwo:1'] });
    const asked = ['code', 'symbol', 'onlyInTwo', '--complete', '--json'];
    const inside = promisify(execFile)(process.execPath, [REEF, ...asked], {
      cwd: join(two.path, 'src'),
      env: rig.world.env,
    });
    expect(JSON.parse((await inside).stdout).symbols).toHaveLength(1);
    const report = await rig.json('code', 'status', '--worktree', two.id);
    expect([report.status, report.basis.dirtyFiles]).toEqual(['success', 1]);
  },
  90_000,
);

verifies('C-031', 'C-033').test(
  'a renamed function is gone from the very next answer',
  async () => {
    const { id, path } = await worktree('renamed');
    expect(await idsOf('roundPrice', '--worktree', id)).toHaveLength(1);
    await promisify(execFile)('sed', ['-i', 's/roundPrice/roundMoney/', join(path, 'src/price.js')]);
    expect(await idsOf('roundPrice', '--worktree', id)).toEqual([]);
    expect(await idsOf('roundMoney', '--worktree', id)).toEqual(['src/price.js#roundMoney:1']);
  },
  60_000,
);

verifies('C-034').test(
  'what an agent and an update write is in the index before anybody asks for it',
  async () => {
    const asks = { ask: { question: 'Go on?', options: ['yes', 'no'] } };
    const agent = rig.world.script('tells', [writes('lib/deep/told.js', 'export const toldByAgent = 1;\n'), asks]);
    const { id, path } = await worktree('told');
    await idsOf('roundPrice'); // the servers of both checkouts are up
    await idsOf('roundPrice', '--worktree', id);
    const [store = ''] = globSync(join(rig.world.home.dir, 'index/*/code.db'));
    const { agentId } = await rig.json('spawn', agent, 'tell', '--cwd', path);
    await expect.poll(() => namesIn(store)).toContain('toldByAgent');
    await rig.json('kill', agentId);
    rig.commit({ 'lib/late/main.js': 'export const broughtByUpdate = 1;\n' }, 'late');
    await rig.json('worktree', 'update', id);
    await expect.poll(() => namesIn(store)).toContain('broughtByUpdate');
  },
  60_000,
);

verifies('C-105', 'C-104').test(
  'the command line prints what a block would see of the code, the same each time',
  async () => {
    const { id } = await worktree('slices');
    const slice = () =>
      rig.reef('code', 'slice', 'outline:src/price.js', 'refs:roundPrice', '--worktree', id, '--budget', '400');
    const [first, second] = [await slice(), await slice()];
    expect([first.code, first.err]).toEqual([0, '']);
    expect(first.out).toContain('function roundPrice(value)');
    expect(first.out).toContain('src/cart.js:2');
    expect(first.out).toMatch(/stage 2, complete/);
    expect(first.out).not.toContain(rig.world.root);
    expect(second.out).toBe(first.out);
  },
  60_000,
);

const throughDoor = (jobId: string) => mcpClient({ REEF_SOCKET: jobSocketPath(rig.world.home.sockets, jobId) });

async function mcpClient(more: Record<string, string> = {}): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [REEF, 'mcp'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: rig.world.root,
      ...more,
    },
    cwd: rig.world.repository,
  });
  const client = new Client({ name: 'test', version: '0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

verifies('C-053').test(
  'an agent gets eleven tools for at most 2,000 tokens, which answer about its own worktree and no other',
  async () => {
    const other = await worktree('foreign', { 'src/secret.js': 'export const foreignSecret = 1;\n' });
    const agent = rig.world.script('waits', [
      writes('src/mine.js', 'export const mineAlone = 1;\n'),
      { ask: { question: 'Go on?', options: ['yes', 'no'] } },
    ]);
    const { agentId } = await rig.json('spawn', agent, 'look', '--worktree', '--plan', 'src/mine.js');
    await rig.world.until(agentId, ({ status }) => status === 'awaiting_input');
    const client = await throughDoor(agentId);
    const symbols = async (name: string) => {
      const asked = { name: 'get_symbol', arguments: { name, require: 'complete' } };
      const { structuredContent } = await client.callTool(asked);
      return (structuredContent as { symbols: { id: string }[] }).symbols.map(({ id }) => id);
    };
    expect(await symbols('mineAlone')).toEqual(['src/mine.js#mineAlone:1']);
    expect(await symbols('foreignSecret')).toEqual([]);
    const refused = await client.callTool({
      name: 'get_symbol',
      arguments: { name: 'foreignSecret', worktree: other.id },
    });
    expect([refused.isError, JSON.stringify(refused.content)]).toEqual([true, expect.stringContaining('not_yours')]);
    const { tools } = await client.listTools();
    const ours = tools.filter(({ name }) => (codeQueries as readonly string[]).includes(name));
    const { count } = await loadTokenCounter();
    const tokens = ours.map(({ name, description, inputSchema }) =>
      count(JSON.stringify({ name, description, inputSchema })),
    );
    expect([ours.length, tools.some(({ name }) => ['index_code', 'get_hops', 'code_index'].includes(name))]).toEqual([
      11,
      false,
    ]);
    const costOf = (isMeant: (name: string) => boolean) =>
      tokens.reduce((sum, each, at) => sum + (isMeant(ours[at]?.name ?? '') ? each : 0), 0);
    const isRelation = (name: string) => /^get_(callers|callees|impact|tests)$/.test(name);
    expect(costOf((name) => !isRelation(name))).toBeLessThanOrEqual(1_200);
    expect(costOf(isRelation)).toBeLessThanOrEqual(780);
    await rig.reef('kill', agentId);
  },
  90_000,
);

verifies('C-067', 'T-14').test(
  'two worktrees whose files refer to each other are near for the radar, though they share no file',
  async () => {
    const price = 'export function roundPrice(value) {\n  return Math.floor(value);\n}\n';
    const one = await rig.world.client.call('worktree_create', { title: 'price', plan: ['src/price.js'] });
    const two = await rig.world.client.call('worktree_create', { title: 'cart', plan: ['src/cart.js'] });
    writeFileSync(join(one.path ?? '', 'src/price.js'), price);
    writeFileSync(join(two.path ?? '', 'src/cart.js'), `${FILES['src/cart.js']}export const more = 1;\n`);
    const near = async () => {
      const { worktrees } = await rig.json('conflicts');
      return (JSON.stringify(worktrees).match(/"tier":"hop"/g) ?? []).length > 0;
    };
    const deadline = Date.now() + 40_000;
    let isNear = await near();
    while (!isNear && Date.now() < deadline) isNear = await near();
    expect(isNear).toBe(true);
    for (const { id } of [one, two]) await rig.world.client.call('worktree_discard', { id });
  },
  90_000,
);

verifies('C-075').test(
  'a worktree is accepted, another discarded, while their servers run, and the servers go with them',
  async () => {
    const accepted = await worktree('accepted', { 'accepted.txt': 'new\n' });
    const discarded = await worktree('discarded', { 'src/gone.js': 'export const gone = 1;\n' });
    await idsOf('roundPrice', '--worktree', accepted.id);
    await idsOf('gone', '--worktree', discarded.id);
    const serving = () => [accepted, discarded].map(({ path }) => analysisServers(path).length > 0);
    expect(serving()).toEqual([true, true]);
    expect((await rig.reef('worktree', 'accept', accepted.id)).code).toBe(0);
    expect((await rig.reef('worktree', 'discard', discarded.id)).code).toBe(0);
    // What a server was about to start has its command line for a moment.
    await expect.poll(serving).toEqual([false, false]);
    expect(rig.git('show', 'main:accepted.txt')).toBe('new');
  },
  90_000,
);

/** The workflow of the rig, its writing block given slices of code. */
function withContext(...slices: string[]): string {
  return QUICK.replace('worker: Agent:coder', `worker: Agent:coder\n        context: ${JSON.stringify(slices)}`);
}

verifies('C-100', 'C-103').test(
  'a block sees its slices; one that cannot be had says so in its place and halts the run only when it is required',
  async () => {
    rig.write({ '.reef/workflows.yaml': withContext('outline:src/price.js', 'file:no/such.txt') });
    await rig.trust();
    const sees = {
      when: 'function roundPrice(value)',
      steps: [writes('src/seen.js', 'export const seen = 1;\n'), done('Seen.')],
    };
    const agent = rig.world.script('sees', [{ choose: [sees, { steps: [done('Blind.', 'FAIL_DEFAULT')] }] }]);
    const { runId } = await rig.start({ task: 'look', agent });
    const { run } = await rig.settled(runId);
    expect([run.status, run.because]).toEqual(['success', run.because]);
    const { view } = await rig.json('run', 'show', runId);
    expect(view.events).toEqual([
      expect.objectContaining({
        type: 'context_degraded',
        slice: 'file:no/such.txt',
        code: 'file_not_found',
        visit: 1,
      }),
    ]);
    expect((await rig.reef('run', 'show', runId)).out).toMatch(
      /context_degraded .*file:no\/such\.txt.*\(file_not_found\)/,
    );
    rig.write({ '.reef/workflows.yaml': withContext('file:no/such.txt required') });
    await rig.trust();
    const needing = await rig.start({ task: 'look', agent: rig.world.script('any', byBlock({})) });
    const halted = await rig.settled(needing.runId);
    expect([halted.run.status, halted.run.because]).toEqual(['halted', expect.stringContaining('no/such.txt')]);
    const { view: stands } = await rig.json('run', 'show', needing.runId);
    expect([stands.halt.reason, stands.events]).toEqual(['context_unavailable', []]);
  },
  120_000,
);

verifies('C-002').test(
  'a daemon that is killed leaves no server',
  async () => {
    await idsOf('roundPrice');
    expect(analysisServers().length).toBeGreaterThan(0);
    await rig.world.killDaemon();
    await expect.poll(() => analysisServers()).toEqual([]);
    expect(await idsOf('roundPrice')).toEqual(['src/price.js#roundPrice:1']);
  },
  90_000,
);

verifies('C-146').test(
  'a worktree is named by its title, its id or its folder, also one that the user made, in commands, tools and operations',
  async () => {
    const made = await worktree('Round all prices', { 'src/price.js': 'export const roundedHere = 1;\n' });
    const byHand = join(rig.world.root, 'by-hand');
    rig.git('worktree', 'add', '-q', '-b', 'by-hand', byHand);
    writeFileSync(join(byHand, 'src/price.js'), 'export const writtenByHand = 1;\n');
    const here = ['src/price.js#roundedHere:1'];
    for (const name of ['Round all prices', 'round all', made.id, made.path, join(made.path, 'src')]) {
      expect(await idsOf('roundedHere', '--worktree', name)).toEqual(here);
      const { symbols } = await rig.world.client.call('get_symbol', { name: 'roundedHere', worktree: name });
      expect(symbols.map(({ id }) => id)).toEqual(here);
    }
    const symbolIn = async (name: string, where: string) => {
      const asked = await (
        await mcpClient({ HOME: join(rig.world.root, 'user'), XDG_CONFIG_HOME: join(rig.world.root, 'config') })
      ).callTool({
        name: 'get_symbol',
        arguments: { name, require: 'complete', worktree: where },
      });
      return (asked.structuredContent as { symbols: { id: string }[] }).symbols.map(({ id }) => id);
    };
    expect(await symbolIn('roundedHere', 'Round all prices')).toEqual(here);
    const written = ['src/price.js#writtenByHand:1'];
    for (const name of [byHand, '../by-hand'])
      expect(await idsOf('writtenByHand', '--worktree', name)).toEqual(written);
    expect(await symbolIn('writtenByHand', byHand)).toEqual(written);
    const inside = await rig.reefIn(join(byHand, 'src'), 'code', 'symbol', 'writtenByHand', '--complete', '--json');
    expect(JSON.parse(inside.out).symbols.map(({ id }: { id: string }) => id)).toEqual(written);
    const state = await rig.reef('state', 'Round all prices', '--section', 'files');
    expect([state.code, state.out]).toEqual([0, expect.stringContaining('src/price.js')]);
    expect((await rig.reef('worktree', 'list')).out).toMatch(/TITLE.*\n(.*\n)*.*Round all prices/);
    for (const name of ['Round all prices', made.path]) {
      expect(await rig.json('worktree', 'diff', name)).toMatchObject({ files: [{ path: 'src/price.js' }] });
    }
    const agent = rig.world.script('ends', [done('Seen.')]);
    for (const name of ['Round all prices', made.path, made.id]) {
      expect((await rig.json('spawn', agent, 'look', '--worktree', name)).worktree).toBe(made.id);
    }
    const foreign = await rig.reef('code', 'symbol', 'x', '--worktree', rig.world.root);
    expect([foreign.code, foreign.err]).toEqual([2, expect.stringContaining('git worktree list')]);
  },
  120_000,
);

verifies('C-146').test(
  'a job in the main checkout, or in a worktree that the user made, has its server before anybody asks',
  async () => {
    const fresh = new RunsRig(FILES);
    onTestFinished(() => fresh.close());
    const byHand = join(fresh.world.root, 'by-hand');
    fresh.git('worktree', 'add', '-q', '-b', 'by-hand', byHand);
    const agent = fresh.world.script('waits', [{ ask: { question: 'Go on?', options: ['yes', 'no'] } }]);
    const places = [
      { cwd: join(fresh.world.repository, 'src'), server: fresh.world.repository },
      { cwd: byHand, server: byHand },
    ];
    for (const { cwd, server } of places) {
      const { agentId } = await fresh.world.client.call('spawn', { agent, task: 'look', cwd });
      await expect.poll(() => analysisServers(server).length, { timeout: 30_000 }).toBeGreaterThan(0);
      await fresh.world.client.call('kill', { id: agentId });
    }
  },
  90_000,
);

verifies('C-146').test('a worktree whose folder was deleted is said to be gone', async () => {
  const { id, path } = await worktree('deleted');
  rmSync(path, { recursive: true });
  const { code, err } = await rig.reef('code', 'refs', 'roundPrice', '--worktree', 'deleted');
  expect([code, err]).toEqual([2, expect.stringContaining(`${path} is gone`)]);
  await rig.reef('worktree', 'discard', id);
});

verifies('C-143').test('a person follows the uses of a definition from the command line', async () => {
  const { id } = await worktree('uses', {
    'src/cart.test.js': "import { total } from './cart.js';\ntest('sums are rounded', () => total(1.5));\n",
  });
  const ask = async (...args: string[]) => (await rig.json('code', ...args, '--complete', '--worktree', id)).related;
  expect(await ask('callers', 'roundPrice')).toMatchObject([
    { id: 'src/cart.js#total:2', relation: 'call', confidence: 'exact', lines: [2], of: 'src/price.js#roundPrice:1' },
  ]);
  expect(await ask('callees', 'total')).toMatchObject([{ id: 'src/price.js#roundPrice:1', of: 'src/cart.js#total:2' }]);
  expect(await ask('tests', 'roundPrice')).toMatchObject([{ name: 'sums are rounded', distance: 2 }]);
  expect(await ask('impact', 'roundPrice', '--depth', '1')).toHaveLength(1);
});

verifies('C-145').test('an answer names flags to whoever typed one, and fields to whoever filled one in', async () => {
  const twice = 'export function twice(n) {\n  return n * 2;\n}\n';
  const { id } = await worktree('twofold', { 'src/one.js': twice, 'src/two.js': twice });
  const told = async (...args: string[]) => {
    const { out, err } = await rig.reef('code', ...args, '--worktree', id);
    return `${out}${err}`;
  };
  expect(await told('callers', 'twice')).toContain('Choose one with --file and --line.');
  expect((await rig.json('code', 'callers', 'twice', '--worktree', id)).note).toContain('`file_path` and `line`');
  expect(await told('callers', 'absent')).toContain('reef code find shows similar names.');
  expect(await told('refs', 'twice', '--limit', '1')).toMatch(/1 of 2 shown: --cursor \S+ goes on/);
  expect(await told('refs', 'twice', '--limit', '2001')).toContain('--limit: ');
  expect(await told('explore', 'twice', '--budget', '10')).toContain('--budget: ');
  expect(await told('callees', 'total')).toContain('roundPrice  called by total, line 2');
  expect(await told('refs', 'two words')).toContain('reef code explore answers questions.');
  expect(await told('outline', 'src/ones.js')).toContain('The nearest is src/one.js.');
  expect(await told('outline', 'manual.pdf')).not.toContain('nearest is');
});
