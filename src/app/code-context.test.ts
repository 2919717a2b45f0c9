import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { writePlayer } from '../../test/fixtures/context/roberto/programs.ts';
import { PATH } from '../../test/support/programs.ts';
import { makeRepository } from '../../test/support/repository.ts';
import { verifies } from '../../test/support/verifies.ts';
import { until } from '../../test/support/wait.ts';
import { systemClock } from '../base/clock.ts';
import { readEnvironment } from '../base/env.ts';
import { homeAt } from '../base/home.ts';
import { probeCapabilities } from '../process/capabilities.ts';
import { argumentsOf, processRows } from '../process/process-table.ts';
import { prepareHome } from '../programs/daemon/home.ts';
import { openCodeContext, referencesOf } from './code-context.ts';

const capabilities = await probeCapabilities();
const canEnter = spawnSync('nsenter', ['--version']).status === 0;
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A repository with a worktree below its home, a person's keys, and a door to another program. */
async function world(settingsIn: (root: string) => { server?: string } = () => ({})) {
  const repository = makeRepository({
    'src/cart.ts': 'export function total() {}\n',
    '.reef/workflows.yaml': 'nodes: {} # namedInManifest\n',
  });
  const { root, checkout } = repository;
  const home = homeAt(join(root, 'home'), readEnvironment({ XDG_STATE_HOME: join(root, 'state') }));
  const [person, runtimeDir] = [join(root, 'person'), join(root, 'runtime')];
  mkdirSync(join(person, '.ssh'), { recursive: true });
  mkdirSync(join(home.dir, 'jobs'), { recursive: true });
  mkdirSync(runtimeDir);
  writeFileSync(join(person, '.ssh/key'), 'secret');
  prepareHome(home);
  writeFileSync(join(home.dir, 'reef.db'), 'secret');
  writeFileSync(join(home.dir, 'jobs/log'), 'secret');
  const worktree = join(home.dir, 'worktrees/one');
  repository.plain('worktree', 'add', '-q', '-b', 'one', worktree);
  const door = createServer((socket) => socket.end('open')).listen(join(runtimeDir, 'door'));
  onTestFinished(() => void door.close());
  const env = { ...readEnvironment(), all: { PATH, HOME: person, XDG_RUNTIME_DIR: runtimeDir } };
  const context = openCodeContext({
    ...{ home, env, capabilities, clock: systemClock, log: silent, settings: () => settingsIn(root) },
    commonDir: join(checkout, '.git'),
  });
  onTestFinished(() => context.close());
  return { root, checkout, home, person, runtimeDir, worktree, context };
}

/** The server itself: the innermost process of its tree. */
function serverPid(tree: number): number {
  const members = processRows().filter((row) => row.isAlive && row.session === tree);
  const [server] = members.filter(({ pid }) => argumentsOf(pid)[0] === process.execPath);
  if (!server) throw new Error('there is no server');
  return server.pid;
}

/** Runs a line of shell where the server is, in its own namespaces. */
function inside(pid: number, line: string): string {
  const where = ['-t', String(pid), '--user', '--mount', '--net', '--preserve-credentials'];
  return execFileSync('nsenter', [...where, '/bin/sh', '-c', line], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH },
  }).trim();
}

verifies('C-002', 'X-27')
  .needs(capabilities.bubblewrap !== undefined && canEnter, 'bubblewrap or nsenter')
  .test(
    'a server reads its worktree, writes the folder of its store and nothing else, has no network and sees no key, home or door',
    async () => {
      const { root, checkout, home, person, runtimeDir, worktree, context } = await world();
      for (const worktreePath of [worktree, checkout]) {
        await context.servers.ensureServer(worktreePath);
        const total = { worktreePath, args: { name: 'total', require: 'complete' as const } };
        const { symbols } = await context.service.callTool('get_symbol', total);
        expect(symbols.map(({ location }) => location.file)).toEqual(['src/cart.ts']);
      }
      const named = { worktreePath: checkout, args: { query: 'namedInManifest' } };
      const { results } = await context.service.callTool('code_search', named);
      expect(results.map(({ file_path }) => file_path)).toEqual(['.reef/workflows.yaml']);
      for (const { pid: tree = 0, worktreePath } of context.servers.running()) {
        const pid = serverPid(tree);
        const tries = [
          ...[join(worktreePath, 'x'), join(worktreePath, 'src/x'), join(checkout, '.git/x'), join(root, 'x')],
          ...[join(person, 'x'), join(home.dir, 'x'), '/etc/x', '/usr/x'],
        ];
        // In its own temporary folder it may: then nothing of it is seen outside.
        for (const path of [...tries, join(worktreePath, 'src/cart.ts')]) inside(pid, `echo >> '${path}'; true`);
        expect(tries.filter((path) => existsSync(path))).toEqual([]);
        expect(readFileSync(join(worktreePath, 'src/cart.ts'), 'utf8')).toBe('export function total() {}\n');
        const [store = ''] = argumentsOf(pid).slice(argumentsOf(pid).indexOf('--store') + 1);
        expect([inside(pid, `touch '${store}-beside' && echo yes`), existsSync(`${store}-beside`)]).toEqual([
          'yes',
          true,
        ]);
        const devices = readFileSync(`/proc/${pid}/net/dev`, 'utf8').match(/^\s*[\w.]+(?=:)/gm) ?? [];
        expect(devices.map((name) => name.trim())).toEqual(['lo']);
        expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'));
        const hidden = ['ls -A', `${person}/.ssh ${home.dir}/jobs ${runtimeDir}`, '2>/dev/null | grep -v :', '| wc -w'];
        expect(inside(pid, hidden.join(' '))).toBe('0');
        expect(inside(pid, `cat '${home.dir}/reef.db'; true`)).toBe('');
      }
    },
    90_000,
  );

verifies('X-139').test(
  'a control character in the name of one file does not cost the answer about the others',
  async () => {
    const { worktree, context } = await world();
    writeFileSync(join(worktree, 'src/pay.ts'), "import { total } from './cart.ts';\ntotal();\n");
    const hostile = 'src/\u001b]0;owned\u0007\u202e.ts';
    writeFileSync(join(worktree, hostile), 'total();\n');
    symlinkSync('cart.ts', join(worktree, 'src/link.ts'));
    await context.servers.ensureServer(worktree);
    const { related } = referencesOf(context);
    await until('the index is whole', async () => (await related(worktree, ['src/cart.ts'], 2)).complete);
    const found = await related(worktree, [hostile, 'src/link.ts', 'src/cart.ts', 'src/absent.ts'], 2);
    expect([found.complete, found.files.some(({ path }) => path === 'src/pay.ts')]).toEqual([false, true]);
    expect(await related(worktree, ['src/absent.ts'], 2)).toEqual({ complete: true, files: [] });
  },
);

verifies('C-095').test(
  'a program that `context.server` names answers in the place of the own one, in the same sandbox, and never as complete',
  async () => {
    const { worktree, context } = await world((root) => ({ server: writePlayer(join(root, 'bin')) }));
    await context.servers.ensureServer(worktree);
    const outline = await context.service.getFileOutline({ worktreePath: worktree, filePath: 'src/cart.ts' });
    expect([outline.classes, outline.basis.complete]).toEqual([[{ name: 'Cart', line: 7 }], false]);
    const { text, complete } = await context.slices({
      slices: ['outline:src/cart.ts'],
      worktreePath: worktree,
      task: '',
    });
    expect([text.includes('class Cart'), complete]).toEqual([true, false]);
    const [{ pid: tree = 0 } = {}] = context.servers.running();
    const isWalledOff = readlinkSync(`/proc/${serverPid(tree)}/ns/net`) !== readlinkSync('/proc/self/ns/net');
    expect(isWalledOff).toBe(capabilities.bubblewrap !== undefined);
  },
  60_000,
);

verifies('C-095').test('a program that is not there is named, with what to correct', async () => {
  const { worktree, context } = await world((root) => ({ server: join(root, 'bin/none') }));
  const failure = await context.servers.ensureServer(worktree).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'analysis_server_missing', message: expect.stringContaining('bin/none') });
});
