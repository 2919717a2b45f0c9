import type { Environment } from '../../base/env.ts';
import { createPaths } from '../paths.ts';
import { toAppConfig } from './app-config.ts';
import { readLayer } from './load.ts';
import type { ReefBlock } from './reef-block.ts';
import { configInvalid } from './settings-file.ts';

/** The block `reef` of the user's `config.yaml`. No file in a repository configures the daemon. */
export function readConfig(env: Pick<Environment, 'all' | 'home'>): ReefBlock {
  const read = readLayer(createPaths(env.all, env.home).configFile());
  if (read && read.problems.length > 0) throw configInvalid(read.problems);
  return structuredClone(toAppConfig(read ? [read.layer] : []).reef) as ReefBlock;
}

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD)$/i;

/** The values of all variables, ours and the agents', whose names say that they are secret. */
export function secretsOf(env: Environment, config: Pick<ReefBlock, 'agents'> = readConfig(env)): string[] {
  const sources = [env.all, ...Object.values(config.agents).map((agent) => agent.env ?? {})];
  return sources.flatMap((source) =>
    Object.entries(source).flatMap(([name, value]) => (value !== undefined && SECRET_NAME.test(name) ? [value] : [])),
  );
}
