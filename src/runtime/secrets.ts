import type { Environment } from '../base/env.ts';
import { configPath, readConfig, type UserConfig } from './config-file.ts';

const SECRET_NAME = /(?:KEY|TOKEN|SECRET|PASSWORD)$/i;

/** What must never be shown, wherever it turns up: variables, ours and the agents', that say by their name what they are (X-50). */
export function secretsOf(env: Environment, config: UserConfig = readConfig(configPath(env))): string[] {
  const sources = [env.all, ...Object.values(config.agents).map((agent) => agent.env ?? {})];
  return sources.flatMap((source) =>
    Object.entries(source).flatMap(([name, value]) => (value !== undefined && SECRET_NAME.test(name) ? [value] : [])),
  );
}
