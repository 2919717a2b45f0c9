import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/base/clock.ts';
import { readEnvironment } from '../../../src/base/env.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { McpApprovals } from '../../../src/runtime/mcp/approval/approvals.ts';
import type { McpFactory, StdioServerSpec } from '../../../src/runtime/mcp/factory.ts';
import { McpPool, type McpPoolDeps } from '../../../src/runtime/mcp/pool/pool.ts';
import { startOf } from '../../../src/runtime/mcp/server-start.ts';
import { disposableFolder } from '../temporary-folder.ts';

export const SERVER = fileURLToPath(new URL('mcp-server.ts', import.meta.url));

const pool = {
  idle_timeout_seconds: 300,
  cleanup_interval_seconds: 30,
  max_idle_servers: 50,
  health_check: { interval: 60, timeout: 5 },
};

export function serverSpec(name: string, more: Partial<StdioServerSpec> = {}): StdioServerSpec {
  const base = {
    name,
    type: 'stdio',
    command: process.execPath,
    env: {},
    cwd: '/',
    required: false,
    share: true,
  } as const;
  const { args = [], ...rest } = more;
  const spec = { ...base, ...rest, args: rest.command === undefined ? [SERVER, ...args] : args };
  return { ...spec, start: rest.start ?? startOf(spec, '/') };
}

/** The server as a grandchild with siblings, as launchers such as `npx` leave it; all carry the nonce in their arguments. */
export function launchedSpec(name: string, nonce: string, flags: readonly string[] = []): StdioServerSpec {
  const line = `sleep 600.${nonce} & setsid sleep 600.${nonce} & "$@"; exit $?`;
  return serverSpec(name, { command: '/bin/sh', args: ['-c', line, 'sh', process.execPath, SERVER, ...flags] });
}

export interface TestFactory extends McpFactory, AsyncDisposable {
  warnings: string[];
}

export async function testFactory(
  more: { pool?: Partial<McpPoolDeps['pool']> } & Partial<Omit<McpPoolDeps, 'pool'>> = {},
): Promise<TestFactory> {
  const warnings: string[] = [];
  const folder = disposableFolder();
  const factory = new McpPool({
    capabilities: await probeCapabilities(),
    env: readEnvironment().all,
    version: '0.0.0-test',
    clock: systemClock,
    log: { warn: (message, fields) => warnings.push(`${message} ${JSON.stringify(fields ?? {})}`) },
    readSpecs: async () => new Map(),
    // Specs of one name differ here as they like: each way to start is approved.
    approvals: approvalsIn(folder.path),
    ...more,
    pool: { ...pool, ...more.pool },
  });
  const close = async () => {
    await factory.close();
    folder[Symbol.dispose]();
  };
  return {
    acquire: (spec, options) => factory.acquire(spec, options),
    stats: () => factory.stats(),
    reload: (name) => factory.reload(name),
    close,
    warnings,
    [Symbol.asyncDispose]: close,
  };
}

/** Approves each way to start a server when it comes, as a person would who is asked. */
export function approvalsIn(folder: string): McpPoolDeps['approvals'] {
  const approvals = new McpApprovals({ folder, clock: systemClock, tell: () => {} });
  return {
    async admit(spec) {
      await approvals.approve(approvals.review(spec.name, spec.start));
      return approvals.admit(spec);
    },
  };
}
