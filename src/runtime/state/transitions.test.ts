import { describe, expect, test } from 'vitest';
import { SERVER } from '../../../test/support/runtime/mcp.ts';
import { openWorld, type World } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createLease, type Lease } from '../../base/lease.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { RagCache } from '../rag/rag.ts';
import type { ContextData } from './context-data.ts';
import type { RequestContext } from './request-context.ts';

const FILES = {
  'roles/jira.md': '---\nenabled_mcp_servers: jira\nenabled_tools: fs_cat\n---\nYou file tickets.',
  'roles/both.md': '---\nenabled_mcp_servers: github,jira\n---\nBoth.',
  'roles/plain.md': 'Plain words.',
  'roles/two.md': '---\nmodel: fake:two\n---\nOther model.',
  'agents/solo/config.yaml': 'mcp_servers: [github]\ninstructions: You are solo.\n',
  'agents/duo/config.yaml': 'mcp_servers: [github, slack]\nglobal_tools: [fs_ls]\ninstructions: You are duo.\n',
  'agents/duo/rag.yaml': 'document_paths: []\n',
  'rags/docs.yaml': 'document_paths: []\n',
};

const servers = (ctx: RequestContext) => [...ctx.toolScope.mcpRuntime.servers.keys()];
const pids = (ctx: RequestContext) =>
  Object.fromEntries([...ctx.toolScope.mcpRuntime.servers].map(([name, { value }]) => [name, value.pid]));
const tools = (ctx: RequestContext) =>
  ctx.toolScope.functions.tools.map(({ name }) => name).filter((name) => !name.startsWith('mcp_'));

describe('the servers of a scope', () => {
  verifies('R-129').test('T9: after an agent with github has left, a role with jira has exactly jira', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.useAgent({ name: 'solo' });
    const inside = servers(ctx);
    await ctx.exitAgent();
    await ctx.useRole('jira');
    expect([inside, servers(ctx)]).toEqual([['github'], ['jira']]);
  });

  verifies('R-130', 'R-23').test(
    "T10: global, role with jira, agent with github and slack, exit leaves exactly the role's",
    async () => {
      await using world = await openWorld({ files: FILES });
      const ctx = world.context();
      await ctx.bootstrapTools();
      const seen = [servers(ctx)];
      await ctx.useRole('jira');
      seen.push(servers(ctx));
      await ctx.useAgent({ name: 'duo' });
      seen.push(servers(ctx));
      const covered = [ctx.role, tools(ctx)];
      await ctx.exitAgent();
      seen.push(servers(ctx));
      expect({ seen, covered, role: ctx.role?.name, tools: tools(ctx), cancelled: world.cancelled }).toEqual({
        seen: [[], ['jira'], ['github', 'slack'], ['jira']],
        covered: [undefined, ['fs_ls']],
        role: 'jira',
        tools: ['fs_cat'],
        cancelled: ['duo'],
      });
    },
  );

  verifies('R-131', 'R-21').test(
    'T11: from a role with github and jira back to global github nothing is started and jira is let go',
    async () => {
      await using world = await openWorld({
        files: { ...FILES, 'config.yaml': 'enabled_mcp_servers: github\n' },
        keepsIdle: false,
      });
      const ctx = world.context();
      await ctx.bootstrapTools();
      await ctx.useRole('both');
      const [before, started] = [pids(ctx), world.factory.stats().spawned];
      await ctx.exitRole();
      expect({ servers: servers(ctx), now: pids(ctx), spawned: world.factory.stats().spawned - started }).toEqual({
        servers: ['github'],
        now: { github: before.github },
        spawned: 0,
      });
    },
  );

  verifies('R-21').test(
    'come side by side, and one that is unknown or fails leaves the others alone, with one warning',
    async () => {
      const mcp = { mcpServers: { good: { command: process.execPath, args: [] }, bad: { command: '/nonexistent' } } };
      await using world = await openWorld({ files: { ...FILES, 'functions/mcp.json': JSON.stringify(mcp) } });
      const ctx = world.context();
      await ctx.update('enabled_mcp_servers bad,missing');
      expect([servers(ctx), [...ctx.toolScope.mcpRuntime.unavailable.keys()].sort(), world.warnings.length]).toEqual([
        [],
        ['bad', 'missing'],
        2,
      ]);
    },
  );

  verifies('R-20').test(
    'are none where functions or servers are switched off, and come back when switched on',
    async () => {
      await using world = await openWorld({
        files: { ...FILES, 'config.yaml': 'enabled_mcp_servers: github\nenabled_tools: all\n' },
      });
      const ctx = world.context();
      await ctx.bootstrapTools();
      const seen = [[servers(ctx), tools(ctx)]];
      await ctx.update('mcp_server_support false');
      seen.push([servers(ctx), tools(ctx)]);
      await ctx.update('function_calling_support false');
      seen.push([servers(ctx), tools(ctx)]);
      await ctx.update('function_calling_support true');
      await ctx.update('mcp_server_support true');
      seen.push([servers(ctx), tools(ctx)]);
      expect(seen).toEqual([
        [['github'], ['fs_cat', 'fs_ls']],
        [[], ['fs_cat', 'fs_ls']],
        [[], []],
        [['github'], ['fs_cat', 'fs_ls']],
      ]);
    },
  );
});

interface Snapshot {
  fields: ContextData;
  /** A session is an object that changes: what is in it. */
  said: unknown;
  dirty: boolean | undefined;
}

const snapshot = (ctx: RequestContext): Snapshot => ({
  fields: { ...ctx },
  said: ctx.session?.state,
  dirty: ctx.session?.isDirty,
});

/** Equal in depth, and field by field the very same. */
function expectUnchanged(ctx: RequestContext, before: Snapshot): void {
  const now = snapshot(ctx);
  expect(now).toEqual(before);
  const moved = Object.keys(before.fields).filter(
    (key) => now.fields[key as keyof ContextData] !== before.fields[key as keyof ContextData],
  );
  expect(moved).toEqual([]);
}

/** Leases that were taken and not given back. */
interface Held {
  count: number;
}

function counted<T>(held: Held, lease: Lease<T>): Lease<T> {
  held.count += 1;
  return createLease(lease.value, async () => {
    held.count -= 1;
    await lease.release();
  });
}

function countServers(world: World, held: Held, before: () => void = () => {}): void {
  const acquire = world.factory.acquire;
  world.factory.acquire = async (spec, options) => {
    before();
    return counted(held, await acquire(spec, options));
  };
}

const countRags = (ragCache: RagCache, held: Held): RagCache => ({
  invalidate: (key) => ragCache.invalidate(key),
  load: async (key, signal) => {
    const lease = await ragCache.load(key, signal);
    return lease && counted(held, lease);
  },
});

interface Step {
  what: string;
  run(ctx: RequestContext, signal?: AbortSignal): Promise<void>;
  start?(ctx: RequestContext): Promise<void>;
}

const STEPS: Step[] = [
  { what: 'useRole', run: (ctx, signal) => ctx.useRole('both', signal) },
  {
    what: 'useRole in a session',
    run: (ctx, signal) => ctx.useRole('both', signal),
    start: (ctx) => ctx.useSession('s'),
  },
  { what: 'usePrompt', run: (ctx, signal) => ctx.usePrompt('Be brief.', signal) },
  { what: 'exitRole', run: (ctx, signal) => ctx.exitRole(signal), start: (ctx) => ctx.useRole('plain') },
  { what: 'useSession', run: (ctx, signal) => ctx.useSession('s', signal) },
  { what: 'exitSession', run: (ctx, signal) => ctx.exitSession(signal), start: (ctx) => ctx.useSession('s') },
  { what: 'useAgent', run: (ctx, signal) => ctx.useAgent({ name: 'duo', session: 'inner', signal }) },
  { what: 'exitAgent', run: (ctx, signal) => ctx.exitAgent(signal), start: (ctx) => ctx.useAgent({ name: 'duo' }) },
  { what: 'useRag', run: (ctx, signal) => ctx.useRag('docs', signal) },
  { what: 'exitRag', run: (ctx, signal) => ctx.exitRag(signal), start: (ctx) => ctx.useRag('docs') },
  { what: '.set enabled_mcp_servers', run: (ctx, signal) => ctx.set('enabled_mcp_servers', 'github,slack', signal) },
  {
    what: '.set enabled_tools in a session',
    run: (ctx, signal) => ctx.set('enabled_tools', 'fs_ls', signal),
    start: (ctx) => ctx.useSession('s'),
  },
  { what: '.model', run: (ctx, signal) => ctx.set('model', 'fake:two', signal) },
];

describe('a transition', () => {
  for (const step of STEPS) {
    verifies('R-141', 'R-22').test(
      `T21: ${step.what}, failed at every step of it, leaves the context as it was`,
      async () => {
        const held: Held = { count: 0 };
        const faults = { at: 'none' };
        const fail = (where: string) => {
          if (faults.at === where) throw new ReefError('internal', `failed at ${where}`);
        };
        await using world = await openWorld({
          files: { ...FILES, 'config.yaml': 'enabled_mcp_servers: jira\nsave_session: true\n' },
          ports: (ports) => ({
            ragCache: countRags(ports.ragCache, held),
            readServers: async () => {
              fail('reading mcp.json');
              const specs = await ports.readServers();
              // Required, so that a server that fails fails the transition and not only itself.
              return new Map([...specs].map(([name, spec]) => [name, { ...spec, required: true }]));
            },
            tools: {
              ...ports.tools,
              build: async (request) => {
                fail('building functions');
                return ports.tools.build(request);
              },
            },
            models: {
              ...ports.models,
              find: (id, kind) => {
                fail('finding the model');
                return ports.models.find(id, kind);
              },
            },
          }),
        });
        countServers(world, held, () => fail('starting a server'));
        const ctx = world.context();
        await ctx.bootstrapTools();
        await step.start?.(ctx);
        const [before, leases] = [snapshot(ctx), held.count];

        const failed: string[] = [];
        for (const where of ['reading mcp.json', 'starting a server', 'building functions', 'finding the model']) {
          faults.at = where;
          await step.run(ctx).catch((error: Error) => failed.push(error.message));
          expectUnchanged(ctx, before);
          expect(held.count).toBe(leases);
        }
        await step.run(ctx, AbortSignal.abort()).catch((error: Error) => failed.push(error.name));
        expectUnchanged(ctx, before);
        expect([failed.length, held.count]).toEqual([5, leases]);

        faults.at = 'none';
        await step.run(ctx);
        expect(snapshot(ctx)).not.toEqual(before);
        await ctx.close();
        expect(held.count).toBe(0);
      },
    );
  }

  verifies('R-141', 'R-22').test(
    'T21: stopped while a server starts, leaves the context as it was and lets go of the others',
    async () => {
      const servers = {
        github: { command: process.execPath, args: [SERVER] },
        mute: { command: process.execPath, args: [SERVER, '--silent'] },
      };
      await using world = await openWorld({
        files: { ...FILES, 'functions/mcp.json': JSON.stringify({ mcpServers: servers }) },
      });
      const held: Held = { count: 0 };
      countServers(world, held);
      const ctx = world.context();
      await ctx.bootstrapTools();
      const before = snapshot(ctx);
      const stop = new AbortController();
      const entering = ctx.set('enabled_mcp_servers', 'github,mute', stop.signal);
      await expect.poll(() => held.count, { timeout: 20_000 }).toBe(1);
      stop.abort();
      await expect(entering).rejects.toMatchObject({ code: 'cancelled' });
      expectUnchanged(ctx, before);
      expect(held.count).toBe(0);
    },
  );

  verifies('R-141', 'R-22').test(
    'T21: whose last step fails, saving or ending children, leaves the context as it was',
    async () => {
      const faults = { isDeaf: false };
      await using world = await openWorld({
        files: { ...FILES, 'config.yaml': 'save_session: true\nenabled_mcp_servers: jira\n' },
        ports: (ports) => ({
          team: async (request) => {
            const team = await ports.team?.(request);
            if (!team) throw new Error('no team');
            const cancelAll = async () => {
              if (faults.isDeaf) throw new ReefError('internal', 'a child does not end');
            };
            return { ...team, supervisor: { ...team.supervisor, cancelAll } };
          },
        }),
      });
      const held: Held = { count: 0 };
      countServers(world, held);
      const ctx = world.context();
      await ctx.useSession('s');
      ctx.session?.change({ kind: 'turn', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] });
      world.write('sessions', 'a file where a folder has to be');
      const inSession = snapshot(ctx);
      await expect(ctx.exitSession()).rejects.toThrow();
      expectUnchanged(ctx, inSession);
      expect(held.count).toBe(1);

      await ctx.useAgent({ name: 'duo' });
      faults.isDeaf = true;
      const inAgent = snapshot(ctx);
      await expect(ctx.exitAgent()).rejects.toThrow('does not end');
      expectUnchanged(ctx, inAgent);
      expect(held.count).toBe(2);
      faults.isDeaf = false;
      await ctx.exitAgent();
      expect([ctx.session?.name, held.count]).toEqual(['s', 1]);
    },
  );

  verifies('R-22').test('waits for the one before it, and a failed one holds up nobody', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    const outcomes = await Promise.allSettled([
      ctx.useRole('jira'),
      ctx.useRole('missing'),
      ctx.useSession('s'),
      ctx.useSession('t'),
      ctx.exitSession(),
      ctx.exitRole(),
    ]);
    expect([outcomes.map(({ status }) => status), ctx.role, ctx.session, servers(ctx)]).toEqual([
      ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
      undefined,
      undefined,
      [],
    ]);
  });

  verifies('R-22').test('during a turn is scope_busy, and a turn waits for those under way', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    const entering = ctx.useRole('jira');
    const end = await ctx.beginTurn();
    expect(ctx.role?.name).toBe('jira');
    await entering;
    await expect(ctx.exitRole()).rejects.toMatchObject({ code: 'scope_busy' });
    await ctx.update('temperature 0.3');
    end();
    end();
    await ctx.exitRole();
    expect([ctx.role, ctx.isInTurn]).toEqual([undefined, false]);
  });

  test('takes up the model of the layer it enters, and the old one when it leaves', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.useRole('two');
    const inside = ctx.model.id;
    await ctx.exitRole();
    expect([inside, ctx.model.id]).toEqual(['fake:two', 'fake:one']);
  });

  test('into a second session, role in a begun session, or out of nothing says what to run first', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    for (const wrong of [ctx.exitRole(), ctx.exitSession(), ctx.exitAgent(), ctx.exitRag()]) {
      await expect(wrong).rejects.toMatchObject({ code: 'invalid_state', message: expect.stringContaining('`.') });
    }
    await ctx.useSession('s');
    await expect(ctx.useSession('t')).rejects.toMatchObject({ code: 'invalid_state' });
    ctx.session?.change({ kind: 'turn', messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] });
    await expect(ctx.useRole('plain')).rejects.toMatchObject({ code: 'invalid_state' });
  });
});
