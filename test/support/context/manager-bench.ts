import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { R_Mcp_ServerManager, type ServerManagerOptions } from '../../../src/context/manager/server-manager.ts';
import { launchBound } from '../../../src/process/bound.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { processRows } from '../../../src/process/process-table.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { fakeServer } from './fake-command.ts';
import type { FakePlan } from './fake-plan.ts';

export interface Bench {
  dir: string;
  warnings: string[];
  manager: R_Mcp_ServerManager;
  /** A folder that is a worktree as far as the manager looks. */
  worktree(name: string): string;
  /** What the servers of a worktree were told, in order. */
  heard(worktree: string): string[];
  /** Processes of the trees of the running servers, or of those given. */
  alive(pids?: readonly number[]): number;
  pids(): number[];
  close(): Promise<void>;
}

/** A manager of real processes that are told how to behave, per worktree by name. */
export async function openBench(
  planOf: (worktreeName: string) => FakePlan,
  options: Partial<ServerManagerOptions> = {},
): Promise<Bench> {
  const capabilities = await probeCapabilities();
  const dir = temporaryFolder();
  const warnings: string[] = [];
  const nameOf = (worktree: string) => worktree.slice(dir.length + 1);
  const logOf = (worktree: string) => join(dir, `${nameOf(worktree)}.log`);
  const manager = new R_Mcp_ServerManager({
    server: fakeServer((path) => ({ log: logOf(path), ...planOf(nameOf(path)) })),
    launch: (spec) => launchBound(spec, capabilities),
    clock: systemClock,
    log: { warn: (message) => warnings.push(message) },
    ...options,
    timings: { start: 60_000, ...options.timings }, // of many at once, on a machine that does other things as well
  });
  const pids = () => manager.running().flatMap(({ pid }) => pid ?? []);
  return {
    dir,
    warnings,
    manager,
    worktree(name) {
      mkdirSync(join(dir, name, '.git'), { recursive: true });
      return join(dir, name);
    },
    heard: (worktree) =>
      existsSync(logOf(worktree)) ? readFileSync(logOf(worktree), 'utf8').split('\n').slice(0, -1) : [],
    pids,
    alive: (of = pids()) => processRows().filter((row) => row.isAlive && of.includes(row.session)).length,
    async close() {
      await manager.close();
    },
  };
}
