import type { Environment } from '../../base/env.ts';
import { createPaths } from '../paths.ts';
import { toAppConfig } from './app-config.ts';
import { readLayer } from './load.ts';
import type { ReefBlock } from './reef-block.ts';
import { type ConfigWarning, configInvalid } from './settings-file.ts';

/** What the daemon takes from `config.yaml`: its part of the block `reef`. */
export interface UserConfig extends Pick<ReefBlock, 'gates' | 'worktree' | 'worktrees' | 'context'> {
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
    worktree: rest.worktree,
    worktrees: rest.worktrees,
    context: rest.context,
  };
}

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD)$/i;

/** What must never be shown, wherever it turns up: variables, ours and the agents', that say by their name what they are. */
export function secretsOf(env: Environment, config: UserConfig = readConfig(configPath(env))): string[] {
  const sources = [env.all, ...Object.values(config.agents).map((agent) => agent.env ?? {})];
  return sources.flatMap((source) =>
    Object.entries(source).flatMap(([name, value]) => (value !== undefined && SECRET_NAME.test(name) ? [value] : [])),
  );
}
