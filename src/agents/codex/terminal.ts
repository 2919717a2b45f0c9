import type { HostFacts, LaunchPlan, LaunchRequest } from '../adapter.ts';
import { refuseTemporaryHome, sandboxMode } from './sandbox.ts';

/** Of a title, which its window has when its session has begun: not while it asks to log in or whether to trust the folder. */
const TITLE = '\u001b]0;';

const SETTINGS = [
  // Empty until the session has begun: before that its composer drops an Enter. And the user may want no title at all.
  'tui.terminal_title=["session-id"]',
  // By default it leaves a server behind that serves every Codex of the user, and lives on after the job.
  'features.daemon_auto_start=false',
];

/** Codex as people use it. It names its session in its title alone, and cut off, so that such a job cannot be resumed. */
export function terminal(spec: LaunchRequest, host: HostFacts): LaunchPlan {
  refuseTemporaryHome(host);
  const [file, ...leading] = host.command;
  const { mcp } = spec;
  const resume = spec.sessionId === undefined ? [] : ['resume', spec.sessionId];
  const settings = mcp === undefined ? SETTINGS : [...SETTINGS, mcpServer(mcp)];
  const model = spec.model === undefined ? [] : ['--model', spec.model];
  const policy = ['--ask-for-approval', 'on-request', '--sandbox', sandboxMode(host, spec)];
  return {
    file,
    args: [...leading, ...resume, ...settings.flatMap((setting) => ['-c', setting]), ...policy, ...model],
    env: mcp?.env ?? {},
    stdin: { ready: TITLE },
    greeting: [],
  };
}

/** TOML, in which strings and lists are written as in JSON. Values come by the environment, which others cannot read. */
function mcpServer({ name, command, args, env }: NonNullable<LaunchRequest['mcp']>): string {
  const json = JSON.stringify;
  const program = `command=${json(command)},args=${json(args)},env_vars=${json(Object.keys(env))}`;
  return `mcp_servers.${name}={${program},default_tools_approval_mode="approve"}`;
}
