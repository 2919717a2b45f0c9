import { realpathSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { readEnvironment } from '../../base/env.ts';
import { lazily } from '../../base/lazily.ts';
import { version } from '../../base/version.ts';
import type { CodeIndex } from '../code-index/code-index.ts';
import { workersUnder } from '../lang/limits.ts';
import { watchCeiling } from './ceiling.ts';
import { RecentWatches } from './recent-watches.ts';
import type { RpcHandlers } from './rpc-lines.ts';
import type { ToolSet } from './tools.ts';

interface Served {
  worktree: string;
  storeFile: string;
}

const PROTOCOL_VERSIONS = ['2025-06-18', '2025-03-26', '2024-11-05'];
const [LATEST = ''] = PROTOCOL_VERSIONS;
const MAX_MEMORY_MB = 256;

/** Implements the protocol. Everything heavy is loaded at the first call, so `initialize` is answered at once. */
export function createServer(
  { worktree, storeFile }: Served,
  onCeiling: () => void,
): RpcHandlers & { close(): Promise<void> } {
  const env = readEnvironment();
  const maxMb = Number(env.all.ROBERTO_MAX_MEMORY_MB) || MAX_MEMORY_MB;
  const workers = workersUnder(maxMb, availableParallelism());
  const parser = lazily(async () => new (await import('../lang/parser-pool.ts')).ParserPool({ workers }));
  const renewParser = async (which: 'all' | 'grown') => (await parser.made())?.renew(which);
  let toolSet: Promise<ToolSet> | undefined;
  const watches = new RecentWatches({
    root: realpathSync(worktree),
    onChange: (paths) => void toolSet?.then((set) => set.changed(paths)).catch(() => {}),
  });

  const open = async (): Promise<CodeIndex> => {
    const [{ CodeIndex }, { createGit }, { run }, { allowedEnv, SYSTEM_PATH }] = await Promise.all([
      import('../code-index/code-index.ts'),
      import('../../git/git-command.ts'),
      import('../../process/run.ts'),
      import('../../process/environment.ts'),
    ]);
    const git = createGit({ run, env: allowedEnv(env.all, [], { PATH: SYSTEM_PATH }) });
    const engine = `reef ${version}`;
    const settings = { git, worktree: watches.root, storeFile, workers, engine, watches };
    return CodeIndex.open({ ...settings, parser: () => parser.get() });
  };
  const tools = () => {
    toolSet ??= import('./tools.ts').then((module) => new module.ToolSet({ open, workers }));
    return toolSet;
  };
  const unwatch = watchCeiling({
    maxMb,
    giveUp: onCeiling,
    ease: () => void renewParser('grown'),
    rest: async () => {
      const isNeeded = await (await toolSet)?.rest();
      if (!isNeeded) await renewParser('all');
    },
    shrink: async (what) => {
      await (await toolSet)?.shrink(what);
      await renewParser('all');
    },
  });

  return {
    request(method, params, signal) {
      if (method === 'initialize') return Promise.resolve(greeting(params));
      if (method === 'ping') return Promise.resolve({});
      if (method === 'tools/list') return listTools();
      if (method !== 'tools/call') return undefined;
      const { name, arguments: args } = (params ?? {}) as { name?: unknown; arguments?: unknown };
      return tools().then((set) => set.call(String(name), args, signal));
    },
    notified(method, params) {
      const { paths } = (params ?? {}) as { paths?: unknown };
      if (method !== 'reef/changed' || !Array.isArray(paths)) return;
      // Nobody has asked yet: the first question reads all there is.
      void toolSet?.then((set) => set.announced(paths.filter((path) => typeof path === 'string'))).catch(() => {});
    },
    async close() {
      unwatch();
      watches.close();
      await (await toolSet)?.close();
      await (await parser.made())?.close();
    },
  };
}

function greeting(params: unknown): object {
  const asked = String((params as { protocolVersion?: unknown } | null | undefined)?.protocolVersion);
  return {
    protocolVersion: PROTOCOL_VERSIONS.includes(asked) ? asked : LATEST,
    capabilities: { tools: {} },
    serverInfo: { name: 'reef-analysis', version },
  };
}

async function listTools(): Promise<object> {
  const [{ codeTools }, { z }] = await Promise.all([import('../../protocol/code.ts'), import('zod')]);
  const tools = Object.entries(codeTools).map(([name, { summary, input, output }]) => ({
    name,
    description: summary,
    inputSchema: z.toJSONSchema(input),
    outputSchema: z.toJSONSchema(output),
    annotations: { readOnlyHint: true, openWorldHint: false },
  }));
  return { tools };
}
