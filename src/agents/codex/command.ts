import type { HostFacts, LaunchPlan, LaunchRequest } from '../adapter.ts';
import { requestLine } from './rpc.ts';
import { refuseTemporaryHome, sandboxMode } from './sandbox.ts';
import type { CodexState } from './state.ts';

const INITIALIZE = 1;
const OPEN = 2;

export function command(spec: LaunchRequest, host: HostFacts): LaunchPlan {
  refuseTemporaryHome(host);
  const [file, ...leading] = host.command;
  const clientInfo = { name: 'reef', title: 'Reef', version: spec.clientVersion };
  const hello = requestLine(INITIALIZE, 'initialize', { clientInfo, capabilities: { experimentalApi: true } });
  return { file, args: [...leading, 'app-server'], env: {}, stdin: 'fifo', greeting: [hello] };
}

export function initial(spec: LaunchRequest, host: HostFacts): CodexState {
  return {
    opening: openingLine(spec, host),
    isSandboxed: host.agentSandbox,
    isSandboxBroken: false,
    agentVersion: null,
    threadId: null,
    isServerStarting: false,
    turnId: null,
    endedTurnId: null,
    nextId: OPEN + 1,
    calls: [{ id: INITIALIZE, for: 'initialize' }],
    asked: {},
    edits: [],
    openTools: [],
    streaming: [],
    retries: 0,
    totals: {},
    resetsAt: null,
  };
}

export const openCall = { id: OPEN, for: 'open' } as const;

/** A resumed thread forgets sandbox, policy and configuration of its first run, so both openings give them. */
function openingLine(spec: LaunchRequest, host: HostFacts): string {
  const settings = {
    cwd: spec.cwd,
    approvalPolicy: 'on-request',
    sandbox: sandboxMode(host, spec),
    ...(spec.model === undefined ? {} : { model: spec.model }),
    config: threadConfig(spec),
  };
  return spec.sessionId === undefined
    ? requestLine(OPEN, 'thread/start', settings)
    : requestLine(OPEN, 'thread/resume', { threadId: spec.sessionId, excludeTurns: true, ...settings });
}

function threadConfig({ mcp }: LaunchRequest): Record<string, unknown> {
  const asking = {
    // Without it Codex refuses questions in its default mode, with it every thread begins with a warning.
    'features.default_mode_request_user_input': true,
    suppress_unstable_features_warning: true,
  };
  if (mcp === undefined) return asking;
  const { name, command: program, args, env } = mcp;
  // Reef decides itself what a job may do with Reef: no question for each of its tools.
  const server = { command: program, args, env, default_tools_approval_mode: 'approve' };
  return { ...asking, [`mcp_servers.${name}`]: server };
}
