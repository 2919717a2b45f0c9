import { fingerprint } from '../../../base/fingerprint.ts';
import type { McpServerSpec } from '../factory.ts';

/**
 * Who may share a process: whoever would have started it in the same way, down to the order of arguments and every value of
 * the environment. A hash, because those values are secrets.
 */
export function serverKey(spec: McpServerSpec): string {
  if (spec.type === 'stdio') {
    const { name, type, command, args, env, cwd } = spec;
    return fingerprint({ name, type, command, args: [...args], env: { ...env }, cwd });
  }
  const { name, type, url, headers } = spec;
  return fingerprint({ name, type, url, headers: { ...headers } });
}
