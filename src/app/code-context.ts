import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownHome } from '../agents/sandbox-home.ts';
import type { Clock } from '../base/clock.ts';
import type { Environment } from '../base/env.ts';
import type { Home } from '../base/home.ts';
import { lazily } from '../base/lazily.ts';
import type { Logger } from '../base/log.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import { whyUnsafe } from '../base/safe-path.ts';
import { loadTokenCounter } from '../base/tokens.ts';
import { configuredServer, ownServer } from '../context/manager/server-command.ts';
import { R_Mcp_ServerManager } from '../context/manager/server-manager.ts';
import { ContextPartitionerService } from '../context/partitioner/context-partitioner.ts';
import {
  type CodeContextRequest,
  createCodeContext,
  createFileOutline,
  type OutlinedFile,
} from '../context/slices/code-context.ts';
import { launchBound } from '../process/bound.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { allowedEnv, SYSTEM_PATH } from '../process/environment.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import type { ReferenceSource } from '../worktrees/deps.ts';

/** One question of the radar names at most this many files. */
const MOST_FILES = 1_000;

interface CodeContextDeps {
  home: Home;
  env: Environment;
  clock: Clock;
  log: Logger;
  capabilities: Capabilities;
  /** The common git folder: all worktrees of a repository share one store. */
  commonDir: string;
  /** `context` of the user's configuration as it is now. */
  settings(): { server?: string | undefined; max_memory_mb?: number | undefined; max_servers?: number | undefined };
}

/** The analysis servers of a repository, and the one way to ask them. */
export function openCodeContext(deps: CodeContextDeps) {
  const { env, clock, log, capabilities, settings } = deps;
  const store = storeOf(deps);
  const serverEnv = allowedEnv(env.all, [], { PATH: SYSTEM_PATH });
  const servers = new R_Mcp_ServerManager({
    clock,
    log,
    get server() {
      const { server } = settings();
      return server ? configuredServer(server, serverEnv) : ownServer({ storeOf: () => store, env: serverEnv });
    },
    get maxMemoryMb() {
      return settings().max_memory_mb;
    },
    get maxServers() {
      return settings().max_servers;
    },
    launch: (spec) => launchBound(spec, capabilities),
    ...(capabilities.bubblewrap !== undefined && { sandboxOf: (path: string) => sandbox(deps, store, path) }),
  });
  const service = new ContextPartitionerService({ servers });
  R_Mcp_ServerManager.install(servers);
  ContextPartitionerService.install(service);
  const counter = lazily(loadTokenCounter);
  const sliceDeps = async () => {
    const { count } = await counter.get();
    return { service, servers, openDir: createSafeDir, clock, count };
  };
  return {
    servers,
    service,
    tokens: async (text: string) => (await counter.get()).count(text),
    async slices(request: CodeContextRequest) {
      return createCodeContext(await sliceDeps())(request);
    },
    async outline(file: OutlinedFile) {
      return createFileOutline(await sliceDeps())(file);
    },
    async close() {
      R_Mcp_ServerManager.install(undefined);
      ContextPartitionerService.install(undefined);
      await servers.close();
    },
  };
}

/** Answers the radar. It starts no server; without one the answer is not complete. */
export function referencesOf({ servers, service }: ReturnType<typeof openCodeContext>): ReferenceSource {
  return {
    async related(worktreePath, files, hops) {
      if (!servers.getClientFor(worktreePath)) return { complete: false, files: [] };
      // A plan may name files that do not exist yet, and a diff files that are gone: nothing refers to them.
      const all = files.filter((file) => existsSync(join(worktreePath, file))).slice(0, MOST_FILES);
      // One name that the index refuses must not cost the answer about all the others.
      const root = realpathSync(worktreePath);
      const there = all.filter((file) => isPlain(root, file));
      if (there.length === 0) return { complete: all.length === 0, files: [] };
      const args = { files: there, depth: Math.min(3, hops) };
      const found = await service.callTool('get_hops', { worktreePath, args });
      if (found.files === 'unknown') return { complete: false, files: [] };
      return {
        complete: there.length === all.length,
        files: found.files.map(({ file_path, distance }) => ({ path: file_path, hops: distance })),
      };
    },
  };
}

function isPlain(root: string, file: string): boolean {
  return whyUnsafe(file) === undefined && realpathSync(join(root, file)) === join(root, file);
}

function storeOf({ home, commonDir }: CodeContextDeps): string {
  const repository = createHash('sha256').update(commonDir).digest('hex').slice(0, 12);
  const file = join(home.dir, 'index', repository, 'code.db');
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return file;
}

/** An analysis server parses what an agent wrote: it may write its store and nothing else. */
function sandbox(
  { home, env, commonDir, settings }: CodeContextDeps,
  store: string,
  worktreePath: string,
): SandboxSpec {
  const folder = dirname(store);
  const around = ownHome(env.all, settings().server ?? process.execPath);
  return {
    kind: 'bubblewrap',
    home: around.home,
    writable: [folder],
    readOnly: [worktreePath, commonDir, ...around.readOnly],
    hidden: [home.dir, ...around.hidden],
    network: 'none',
    scratch: join(folder, 'sandbox'),
  };
}
