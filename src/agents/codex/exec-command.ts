import type { HostFacts, LaunchPlan, LaunchRequest } from '../adapter.ts';
import { refuseTemporaryHome, sandboxMode } from './sandbox.ts';

/**
 * The prompt is a file on stdin: an open pipe would hang it for ever. `resume` knows neither `-s` nor `-C` and falls
 * back to a read-only sandbox, so both stand before it.
 */
export function execCommand(spec: LaunchRequest, host: HostFacts): LaunchPlan {
  refuseTemporaryHome(host);
  const [file, ...leading] = host.command;
  const place = ['-s', sandboxMode(host, spec), '-C', spec.cwd, '--skip-git-repo-check'];
  const resume = spec.sessionId === undefined ? [] : ['resume'];
  const session = spec.sessionId === undefined ? [] : [spec.sessionId];
  const model = spec.model === undefined ? [] : ['-m', spec.model];
  const args = [...leading, 'exec', ...place, ...resume, '--json', ...model, ...mcpArgs(spec), ...session, '-'];
  return { file, args, env: spec.mcp?.env ?? {}, stdin: 'file', greeting: [] };
}

/** Values are TOML, of which JSON strings and lists are a part. Secrets go by name: everybody can read an argv. */
function mcpArgs({ mcp }: LaunchRequest): string[] {
  if (mcp === undefined) return [];
  const settings = {
    command: mcp.command,
    args: mcp.args,
    env_vars: Object.keys(mcp.env),
    default_tools_approval_mode: 'approve',
  };
  return Object.entries(settings).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.${mcp.name}.${key}=${JSON.stringify(value)}`,
  ]);
}
