import type { Environment } from '../base/env.ts';
import { toAppConfig } from './config/app-config.ts';
import { configInvalid, readLayer } from './config/load.ts';
import type { ReefBlock } from './config/reef-block.ts';
import type { ConfigWarning } from './config/yaml-file.ts';
import { createPaths } from './paths.ts';

/** What the daemon takes from `config.yaml`: its part of the block `reef`. */
export interface UserConfig extends Pick<ReefBlock, 'gates' | 'worktrees' | 'context'> {
  defaultAgent: string;
  maxJobs: number;
  agents: ReefBlock['agents'];
  /** Milliseconds. */
  timings: Omit<ReefBlock['timings'], 'daemon_idle'> & { daemonIdle?: number };
}

export function configPath(env: Pick<Environment, 'all' | 'home'>): string {
  return createPaths(env.all, env.home).configFile();
}

/** The user's own file, outside every repository: nothing in a repository is configuration of the daemon. */
export function readConfig(path: string, warn: (warning: ConfigWarning) => void = () => {}): UserConfig {
  const { layer = {}, problems = [], warnings = [] } = readLayer(path) ?? {};
  if (problems.length > 0) throw configInvalid(problems);
  for (const warning of warnings) warn(warning);
  const { max_jobs, agents, timings, default_agent, ...rest } = structuredClone(toAppConfig([layer]).reef) as ReefBlock;
  const { daemon_idle, ...others } = timings;
  return {
    maxJobs: max_jobs,
    agents,
    timings: daemon_idle === undefined ? others : { ...others, daemonIdle: daemon_idle },
    defaultAgent: default_agent,
    gates: rest.gates,
    worktrees: rest.worktrees,
    context: rest.context,
  };
}
