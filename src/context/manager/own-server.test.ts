import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { COMPILED } from '../../../test/support/compile-cache.ts';
import { PATH } from '../../../test/support/programs.ts';
import { initRepository, plainGit } from '../../../test/support/repository.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { until } from '../../../test/support/wait.ts';
import { systemClock } from '../../base/clock.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import { loadTokenCounter } from '../../base/tokens.ts';
import { launchBound } from '../../process/bound.ts';
import { probeCapabilities } from '../../process/capabilities.ts';
import { processRows } from '../../process/process-table.ts';
import type { SandboxSpec } from '../../process/sandbox.ts';
import { ContextPartitionerService } from '../partitioner/context-partitioner.ts';
import { createCodeContext, createFileOutline } from '../slices/code-context.ts';
import { ownServer } from './server-command.ts';
import { R_Mcp_ServerManager, type ServerManagerOptions } from './server-manager.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The real server, on real repositories. */

vi.setConfig({ testTimeout: 90_000 }); // each starts Node several times

const capabilities = await probeCapabilities();
const counter = await loadTokenCounter();

const CART = `export class Cart {
  add(item: string): void {}
}

export function total(cart: Cart): number {
  return 1;
}
`;
const SHOP = `import { Cart, total } from './cart.ts';

export const sum = total(new Cart());
`;

/** A repository with a second worktree, and a manager of servers over one store. */
function shop(options: Partial<ServerManagerOptions> = {}) {
  const dir = temporaryFolder();
  const [one, two, store] = [join(dir, 'one'), join(dir, 'two'), join(dir, 'index')];
  mkdirSync(store);
  const git = initRepository(one, { 'src/cart.ts': CART, 'src/shop.ts': SHOP });
  git('worktree', 'add', '-q', two);
  const manager = new R_Mcp_ServerManager({
    server: ownServer({
      storeOf: () => join(store, 'code.db'),
      env: { PATH, HOME: dir, NODE_COMPILE_CACHE: COMPILED },
    }),
    launch: (spec) => launchBound(spec, capabilities),
    clock: systemClock,
    log: { warn: () => {} },
    ...options,
  });
  onTestFinished(() => manager.close());
  const service = new ContextPartitionerService({ servers: manager });
  const parts = {
    service,
    servers: manager,
    openDir: createSafeDir,
    count: (text: string) => counter.count(text),
    clock: systemClock,
  };
  return { dir, one, two, store, manager, service, parts, codeContext: createCodeContext(parts) };
}

verifies('C-001', 'C-005', 'C-071', 'C-073', 'C-084').test(
  'two worktrees, two servers, one store: each answers for its own files',
  async () => {
    const { one, two, store, manager, service } = shop();
    await Promise.all([manager.spinUpServer(one), manager.spinUpServer(two)]);
    writeFileSync(join(two, 'src/cart.ts'), CART.replace('total', 'totalOf'));
    const names = async (worktreePath: string) =>
      (await service.getFileOutline({ worktreePath, filePath: 'src/cart.ts', require: 'complete' })).functions.map(
        ({ name }) => name,
      );
    const uses = await service.getSymbolReferences({ worktreePath: one, symbolName: 'total', require: 'complete' });
    expect([await names(one), await names(two), manager.running().length, existsSync(join(store, 'code.db'))]).toEqual([
      ['total'],
      ['totalOf'],
      2,
      true,
    ]);
    expect(uses.map(({ filePath, line, lineText }) => `${filePath}:${line} ${lineText.trim()}`).sort()).toEqual([
      'src/cart.ts:5 export function total(cart: Cart): number {',
      "src/shop.ts:1 import { Cart, total } from './cart.ts';",
      'src/shop.ts:3 export const sum = total(new Cart());',
    ]);
    expect(plainGit(one)('status', '--porcelain', '--ignored')).toBe(''); // nothing of ours lies in the worktree
    const trees = manager.running().map(({ pid }) => pid);
    await manager.spinDownServer(one);
    await expect(service.callTool('get_symbol', { worktreePath: one, args: { name: 'total' } })).rejects.toThrow(
      'No active analysis server for this worktree.',
    );
    await manager.close();
    expect(processRows().filter((row) => row.isAlive && trees.includes(row.session))).toEqual([]);
  },
);

verifies('C-004').test('the façade and the server refuse what leads out, each in its way', async () => {
  const { one, manager, service, dir } = shop();
  writeFileSync(join(dir, 'secret.ts'), 'export const secret = 1;\n');
  execFileSync('ln', ['-s', join(dir, 'secret.ts'), join(one, 'src/link.ts')]);
  await manager.ensureServer(one);
  const refused = { code: 'path_outside_worktree' };
  await expect(service.getFileOutline({ worktreePath: one, filePath: '../secret.ts' })).rejects.toMatchObject(refused);
  await expect(service.getFileOutline({ worktreePath: one, filePath: 'src/link.ts' })).rejects.toMatchObject(refused);
  await expect(service.getFileOutline({ worktreePath: one, filePath: 'src/none.ts' })).rejects.toMatchObject({
    code: 'file_not_found',
  });
});

verifies('C-077').test('killed in the middle, a server comes back and answers the same', async () => {
  const { one, manager, service } = shop({ timings: { restarts: [10, 10, 10] } });
  const active: ((a: { worktreePath: string; active: boolean; removed: boolean }) => void)[] = [];
  manager.follow({
    onChange(listener) {
      active.push(listener);
      return () => {};
    },
  });
  active[0]?.({ worktreePath: one, active: true, removed: false });
  await until('it is up', () => manager.running()[0]?.isUsable);
  const before = await service.callTool('get_symbol', {
    worktreePath: one,
    args: { name: 'total', require: 'complete' },
  });
  const [{ pid = 0 } = {}] = manager.running();
  process.kill(pid, 'SIGKILL');
  await until('another is up', () => manager.running().some((each) => each.isUsable && each.pid !== pid));
  const after = await service.callTool('get_symbol', {
    worktreePath: one,
    args: { name: 'total', require: 'complete' },
  });
  expect([after.symbols, after.symbols.length]).toEqual([before.symbols, 1]);
});

verifies('C-100', 'C-101', 'C-104').test(
  'slices of the same tree are the same bytes, in any worktree and after any restart',
  async () => {
    const { one, two, manager, codeContext } = shop();
    const slices = [
      'outline:{plan}',
      'source:total',
      'refs:total',
      'tree:src',
      'find:tot',
      'file:src/shop.ts lines=1-1',
    ];
    /** On a machine that is busy ten seconds may be too few; only what is complete has to be the same. */
    const ask = async (worktreePath: string) => {
      for (let tries = 0; ; tries += 1) {
        const shown = await codeContext({ slices, worktreePath, task: 'count', plan: ['src/cart.ts'] });
        if (shown.complete || tries === 5) return shown;
      }
    };
    const first = await ask(one);
    const second = await ask(two);
    await manager.spinDownServer(one);
    const third = await ask(one);
    expect([second, third]).toEqual([first, first]);
    expect({ ...first, text: first.text.split('\n').slice(0, 5) }).toEqual({
      text: [
        '#### outline:src/cart.ts (stage 2, complete)',
        '1: class Cart',
        expect.stringMatching(/^2: {3}add\(/),
        expect.stringMatching(/^5: /),
        '',
      ],
      tokens: expect.any(Number),
      complete: true,
      degraded: [],
    });
    const { text, degraded } = await codeContext({ slices: ['outline:src/none.ts'], worktreePath: one, task: '' });
    expect([text.includes(one), degraded.map(({ code }) => code)]).toEqual([false, ['file_not_found']]);
  },
);

verifies('C-101', 'W-10').test(
  'a file there is no room for is shown by its outline within bounds, else by its first lines, and says which',
  async () => {
    const { one, manager, parts } = shop();
    const many = Array.from({ length: 400 }, (_, at) => `export function made${at}(value: number) { return value; }`);
    const files: Record<string, string> = {
      'src/many.ts': `${many.join('\n')}\n`,
      'notes.md': 'one\ntwo\n',
      'src/cart.ts': CART,
    };
    for (const [path, content] of Object.entries(files)) writeFileSync(join(one, path), content);
    const outline = async (path: string) =>
      createFileOutline(parts)({ worktreePath: one, path, content: files[path] ?? 'a\nb' });
    expect((await outline('src/cart.ts')).split('\n').slice(0, 2)).toEqual([
      '#### outline:src/cart.ts (stage 2, complete)',
      '1: class Cart',
    ]);
    const long = await outline('src/many.ts');
    expect([counter.count(long) <= 600, long.split('\n')[1], long.includes('more')]).toEqual([true, '1: made0', true]);
    expect([await outline('notes.md'), await outline('repository state')]).toEqual([
      '(no outline: it defines nothing; its first lines)\none\ntwo\n',
      '(no outline: file_not_found; its first lines)\na\nb',
    ]);
    await manager.close();
    expect(await outline('src/cart.ts')).toMatch(/^\(no outline: \w+; its first lines\)\nexport class Cart/);
  },
);

verifies('C-100').test('every kind of slice is answered by the real server', async () => {
  const { one, codeContext } = shop();
  const slices = [
    'outline:src/cart.ts required',
    'tree:. depth=3 required',
    'symbol:Cart required',
    'source:{args.name} required',
    'refs:total limit=2 required',
    'find:tot required',
    'search:"new Cart" required',
    'explore:{task} budget=600 required',
    'map:{task} required',
    'hops:{plan} depth=2 required',
    'file:{changed} lines=1-2 required',
  ];
  const { text, tokens, degraded } = await codeContext({
    slices,
    budget: 3_000,
    worktreePath: one,
    task: 'where is the total of a cart computed?',
    plan: ['src/cart.ts'],
    changed: ['src/shop.ts'],
    args: { name: 'total' },
  });
  const headings = text.split('\n').filter((line) => line.startsWith('#### '));
  expect(headings.map((line) => line.replace(/^#### (\w+):.*/, '$1'))).toEqual(
    slices.map((slice) => slice.slice(0, slice.indexOf(':'))),
  );
  expect([degraded, tokens <= 3_000, text.includes('return 1;')]).toEqual([[], true, true]);
});

verifies('C-002', 'X-27')
  .needs(capabilities.bubblewrap !== undefined, 'bubblewrap')
  .test('in its sandbox a server answers, writes its store and nothing else', async () => {
    const place = shop();
    const { one, store, dir } = place;
    const sandboxOf = (worktreePath: string): SandboxSpec => ({
      kind: 'bubblewrap',
      writable: [store],
      // Where the project itself lies in the temporary folder, a private one would hide it.
      readOnly: [worktreePath, join(one, '.git'), ROOT, dirname(process.execPath)],
      hidden: [join(dir, 'two')],
      network: 'none',
      scratch: join(dir, 'scratch'),
    });
    const manager = new R_Mcp_ServerManager({
      server: ownServer({ storeOf: () => join(store, 'code.db'), env: { PATH, HOME: dir } }),
      launch: (spec) => launchBound(spec, capabilities),
      clock: systemClock,
      log: { warn: () => {} },
      sandboxOf,
    });
    onTestFinished(() => manager.close());
    const service = new ContextPartitionerService({ servers: manager });
    await manager.ensureServer(one);
    const found = await service.callTool('get_symbol', {
      worktreePath: one,
      args: { name: 'total', require: 'complete' },
    });
    const sandboxed = { file: '/bin/sh', cwd: one, env: { PATH }, tag: 'probe', sandbox: sandboxOf(one) };
    const script =
      'touch x; touch src/x; ls ../two | wc -l; touch ../index/x && echo stored; cat /proc/net/dev | wc -l';
    const probe = await launchBound({ ...sandboxed, args: ['-c', `${script} 2>/dev/null`] }, capabilities);
    let said = '';
    probe.stdout.on('data', (chunk) => {
      said += chunk;
    });
    await probe.exited;
    await probe.close({ graceMs: 0 });
    expect([found.symbols.length, existsSync(join(one, 'x')), existsSync(join(one, 'src/x'))]).toEqual([
      1,
      false,
      false,
    ]);
    expect(said.trim().split(/\s+/)).toEqual(['0', 'stored', '3']);
  });
