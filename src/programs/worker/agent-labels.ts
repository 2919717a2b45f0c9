import { type Detection, detectAgents } from '../../agents/detect.ts';
import { AdapterRegistry } from '../../agents/registry.ts';
import type { Environment } from '../../base/env.ts';
import { readConfig } from '../../runtime/config/user-config.ts';

/** Agents that work on this host: they start under the worker's PATH and show a log-in. Each by name, and with its version. */
export async function agentLabels(env: Environment): Promise<string[]> {
  const found = await detectAgents(new AdapterRegistry(() => readConfig(env).agents), env.all);
  return found.flatMap(labelsOf);
}

function labelsOf({ name, path, version, login, severity }: Detection): string[] {
  const works = path !== undefined && severity === 'ok' && login !== 'no';
  // `native:` is Reef itself, which is everywhere.
  if (!works || name.includes(':')) return [];
  return [`agent=${name}`, ...(version === undefined ? [] : [`agent=${name}@${version}`])];
}
