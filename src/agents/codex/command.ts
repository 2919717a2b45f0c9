import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defined } from '../../base/defined.ts';
import type { AgentDescription, LaunchPlan, LaunchRequest, MachineFacts } from '../adapter.ts';
import { instructionText, loadsProject, type ProjectFiles } from '../project-files.ts';
import { requestLine } from './rpc.ts';
import { refuseTemporaryHome, sandboxMode } from './sandbox.ts';
import type { CodexState } from './state.ts';

const INITIALIZE = 1;
const OPEN = 2;

export function command(spec: LaunchRequest, machine: MachineFacts): LaunchPlan {
  refuseTemporaryHome(machine);
  const [file, ...leading] = machine.command;
  const clientInfo = { name: 'reef', title: 'Reef', version: spec.clientVersion };
  const hello = requestLine(INITIALIZE, 'initialize', { clientInfo, capabilities: { experimentalApi: true } });
  return { file, args: [...leading, 'app-server'], env: {}, stdin: 'fifo', greeting: [hello] };
}

export function initial(spec: LaunchRequest, machine: MachineFacts): CodexState {
  return {
    opening: openingLine(spec, machine),
    isSandboxed: machine.agentSandbox,
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

/** A resumed thread forgets its sandbox, policy and configuration, so both ways of opening give them. */
function openingLine(spec: LaunchRequest, machine: MachineFacts): string {
  const settings = {
    cwd: spec.cwd,
    approvalPolicy: 'on-request',
    sandbox: sandboxMode(machine, spec),
    ...defined({ model: spec.model }),
    config: threadConfig(spec),
  };
  return spec.sessionId === undefined
    ? requestLine(OPEN, 'thread/start', settings)
    : requestLine(OPEN, 'thread/resume', { threadId: spec.sessionId, excludeTurns: true, ...settings });
}

/**
 * Whether Codex reads `.codex` of a folder. Said here it also keeps Codex from writing into the user's settings that it
 * trusts the folder, as it does by itself.
 */
function trustLevels(project: ProjectFiles): Record<string, { trust_level: string }> {
  const trust_level = loadsProject(project) ? 'trusted' : 'untrusted';
  return Object.fromEntries(project.roots.map((root) => [root, { trust_level }]));
}

function threadConfig({ mcp, project }: LaunchRequest): Record<string, unknown> {
  const asking = {
    ...(project && { projects: trustLevels(project) }),
    // In a folder it does not trust, Codex does not read AGENTS.md either.
    ...defined({ developer_instructions: instructionText(project) }),
    // Codex needs the first to ask in its default mode, and the second or every thread begins with a warning about it.
    'features.default_mode_request_user_input': true,
    suppress_unstable_features_warning: true,
  };
  if (mcp === undefined) return asking;
  const { name, command: program, args, env } = mcp;
  // Reef decides itself what a job may do with Reef: no question for each of its tools.
  const server = { command: program, args, env, default_tools_approval_mode: 'approve' };
  return { ...asking, [`mcp_servers.${name}`]: server };
}

const TESTED = '0.166.0';
export const LOGIN = 'codex login';

/** npm package and target of each native binary. Only the one for this machine is installed. */
const PLATFORMS = [
  ['linux-x64', 'x86_64-unknown-linux-musl'],
  ['linux-arm64', 'aarch64-unknown-linux-musl'],
  ['darwin-x64', 'x86_64-apple-darwin'],
  ['darwin-arm64', 'aarch64-apple-darwin'],
] as const;

/**
 * Killing the Node launcher may leave the native binary alive, so Reef starts the binary itself. Its package lies beside the
 * launcher's (npm, pnpm) or below it; a download keeps `vendor` in the launcher's package.
 */
function behindLauncher(realPath: string): string[] {
  const launcher = dirname(dirname(realPath));
  const binary = (root: string, target: string) => join(root, 'vendor', target, 'bin', 'codex');
  return PLATFORMS.flatMap(([name, target]) => [
    binary(join(dirname(launcher), `codex-${name}`), target),
    binary(join(launcher, 'node_modules', '@openai', `codex-${name}`), target),
    binary(launcher, target),
  ]);
}

/** A provider of the user's own says where its key is. */
function keysInSettings({ CODEX_HOME, HOME = '/' }: Readonly<NodeJS.ProcessEnv>): string[] {
  try {
    const settings = readFileSync(join(CODEX_HOME || join(HOME, '.codex'), 'config.toml'), 'utf8');
    return [...settings.matchAll(/^[ \t]*env_key[ \t]*=[ \t]*["'](\w+)["']/gm)].flatMap(([, name]) => name ?? []);
  } catch {
    return []; // it has no settings
  }
}

const common: Omit<AgentDescription, 'name' | 'title' | 'asks' | 'busyMessage'> = {
  executable: 'codex',
  behindLauncher,
  versionArgs: ['--version'],
  tested: TESTED,
  install: 'npm install -g @openai/codex',
  login: LOGIN,
  loginSigns: ['$CODEX_API_KEY', '$OPENAI_API_KEY', '$CODEX_HOME/auth.json', '~/.codex/auth.json'],
  recorded: '2026-11-15',
  resumes: true,
  /** It returns our id with a message, but runs a repeated message again. */
  ignoresRepeats: false,
  project: { settings: ['.codex'], instructions: ['AGENTS.md'] },
  state: [
    {
      at: ['$CODEX_HOME', '~/.codex'],
      endpoints: ['config.toml'],
      without:
        /\.sqlite(?:-\w+)?$|\.lock$|^(?:(?:archived_)?sessions|history\.jsonl|log|logs|tmp|\.tmp|worktrees|shell_snapshots|thread-writer-locks)$/,
      sessions: { folder: 'sessions', file: /^\d{4}\/\d\d\/\d\d\/rollout-[\w-]+\.jsonl$/ },
      logins: {
        'auth.json': {
          same: ['auth_mode', 'OPENAI_API_KEY', 'tokens.account_id'],
          takes: ['tokens.id_token', 'tokens.access_token', 'tokens.refresh_token', 'last_refresh'],
          later: 'last_refresh',
        },
      },
    },
  ],
  hosts: ['api.openai.com', 'auth.openai.com', 'chatgpt.com'],
  sandbox: 'own',
  shellKeys: ['CODEX_API_KEY', 'OPENAI_API_KEY', 'OPENAI_BASE_URL'],
  keysInSettings,
  passEnv: ['CODEX_HOME'],
};

export const describeAppServer = (): AgentDescription => ({
  ...common,
  name: 'codex',
  title: 'Codex',
  asks: ['permission', 'choice', 'text'],
  busyMessage: 'steers',
});

export const describeExec = (): AgentDescription => ({
  ...common,
  name: 'codex-exec',
  title: 'Codex (exec)',
  asks: [],
  busyMessage: 'refused',
  tellsTokensLate: true,
});

/** The start of a window title, which Codex sets when its session begins: after it asked for log-in and trust. */
const TITLE = '\u001b]0;';

const SETTINGS = [
  // Empty until the session has begun: before that, the composer drops an Enter. The user may have turned titles off.
  'tui.terminal_title=["session-id"]',
  // By default it starts a server for every Codex of the user, which outlives the job.
  'features.daemon_auto_start=false',
];

/** Codex as people use it. Only its title names the session, and cut off, so such a job cannot be resumed. */
export function terminal(spec: LaunchRequest, machine: MachineFacts): LaunchPlan {
  refuseTemporaryHome(machine);
  const [file, ...leading] = machine.command;
  const { mcp } = spec;
  const resume = spec.sessionId === undefined ? [] : ['resume', spec.sessionId];
  const settings = [...SETTINGS, ...(mcp === undefined ? [] : [mcpServer(mcp)]), ...trustSettings(spec)];
  const model = spec.model === undefined ? [] : ['--model', spec.model];
  const policy = ['--ask-for-approval', 'on-request', '--sandbox', sandboxMode(machine, spec)];
  return {
    file,
    args: [...leading, ...resume, ...settings.flatMap((setting) => ['-c', setting]), ...policy, ...model],
    env: mcp?.env ?? {},
    stdin: { ready: TITLE },
    greeting: [],
  };
}

/** In TOML, where strings and lists are written as in JSON. Secrets go by the environment: everybody can read an argv. */
function mcpServer({ name, command, args, env }: NonNullable<LaunchRequest['mcp']>): string {
  const json = JSON.stringify;
  const program = `command=${json(command)},args=${json(args)},env_vars=${json(Object.keys(env))}`;
  return `mcp_servers.${name}={${program},default_tools_approval_mode="approve"}`;
}

/**
 * The prompt is a file on stdin: an open pipe would hang it for ever. `resume` knows neither `-s` nor `-C` and falls
 * back to a read-only sandbox, so both stand before it.
 */
export function execCommand(spec: LaunchRequest, machine: MachineFacts): LaunchPlan {
  refuseTemporaryHome(machine);
  const [file, ...leading] = machine.command;
  const place = ['-s', sandboxMode(machine, spec), '-C', spec.cwd, '--skip-git-repo-check'];
  const resume = spec.sessionId === undefined ? [] : ['resume'];
  const session = spec.sessionId === undefined ? [] : [spec.sessionId];
  const model = spec.model === undefined ? [] : ['-m', spec.model];
  const trust = trustSettings(spec).flatMap((setting) => ['-c', setting]);
  const args = [
    ...leading,
    'exec',
    ...place,
    ...trust,
    ...resume,
    '--json',
    ...model,
    ...mcpArgs(spec),
    ...session,
    '-',
  ];
  return { file, args, env: spec.mcp?.env ?? {}, stdin: 'file', greeting: [] };
}

/** The same for a command line, in TOML. */
function trustSettings({ project }: LaunchRequest): string[] {
  if (project === undefined) return [];
  const levels = Object.entries(trustLevels(project)).map(
    ([root, { trust_level }]) => `${JSON.stringify(root)}={trust_level="${trust_level}"}`,
  );
  const text = instructionText(project);
  const instructions = text === undefined ? [] : [`developer_instructions=${JSON.stringify(text)}`];
  return [`projects={${levels.join(',')}}`, ...instructions];
}

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
