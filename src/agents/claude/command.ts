import { dirname, join } from 'node:path';
import type { AgentDescription, LaunchPlan, LaunchRequest, MachineFacts } from '../adapter.ts';
import { instructionText, loadsProject } from '../project-files.ts';
import { TERMINAL_HOOKS } from './hooks.ts';

const PROTOCOL = [
  '-p',
  '--input-format',
  'stream-json',
  '--output-format',
  'stream-json',
  '--verbose',
  '--permission-prompt-tool',
  'stdio',
];

const QUIET = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1' };

const ENV = {
  CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
  // The default is ten, up to 37 s each, even after a refused key.
  CLAUDE_CODE_MAX_RETRIES: '3',
  ...QUIET,
};

export function command(request: LaunchRequest, machine: MachineFacts): LaunchPlan {
  const [file, ...leading] = machine.command;
  const common = commonOptions(request);
  return {
    file,
    args: [...leading, ...PROTOCOL, ...common.args],
    env: { ...ENV, ...common.env },
    stdin: 'fifo',
    greeting: [],
  };
}

/** The start of a window title, which Claude sets when its conversation begins: after it asked about key and folder. */
const TITLE = '\u001b]0;';

export function terminal(request: LaunchRequest, machine: MachineFacts): LaunchPlan {
  const [file, ...leading] = machine.command;
  const common = commonOptions(request, TERMINAL_HOOKS);
  return {
    file,
    args: [...leading, ...common.args],
    env: { ...QUIET, ...common.env },
    stdin: { ready: TITLE },
    greeting: [],
    sessionId: request.sessionId ?? request.freshSessionId,
  };
}

const WRITING_TOOLS = 'Edit,Write,NotebookEdit,Bash';

/** Settings, hooks and servers of the folder take effect only when they are trusted; its instructions always. */
function commonOptions(
  { sessionId, freshSessionId, model, mcp, readonly, project }: LaunchRequest,
  hooks: Readonly<Record<string, unknown>> = {},
) {
  const session = sessionId === undefined ? ['--session-id', freshSessionId] : ['--resume', sessionId];
  const server = mcp === undefined ? { args: [], env: {} } : mcpServer(mcp);
  const isLoaded = loadsProject(project);
  const instructions = instructionText(project);
  const settings = {
    ...((mcp !== undefined || Object.keys(hooks).length > 0) && { hooks: { ...hooks, ...(mcp && compactHook(mcp)) } }),
    ...(isLoaded && { enableAllProjectMcpServers: true }),
  };
  const args = [
    ...session,
    ...(model === undefined ? [] : ['--model', model]),
    ...(readonly ? [`--disallowedTools=${WRITING_TOOLS}`] : []),
    ...(isLoaded ? [] : ['--strict-mcp-config']),
    ...server.args,
    ...(Object.keys(settings).length === 0 ? [] : ['--settings', JSON.stringify(settings)]),
    ...(instructions === undefined ? [] : ['--append-system-prompt', instructions]),
    ...['--setting-sources', isLoaded ? 'user,project,local' : 'user'],
  ];
  return { args, env: server.env };
}

type Server = NonNullable<LaunchRequest['mcp']>;

const variable = (name: string) => `REEF_MCP_${name}`;

/** Every user of the machine can read arguments, so values go by the environment, from which Claude fills them in. */
function mcpServer(server: Server): { args: string[]; env: Record<string, string> } {
  const names = Object.keys(server.env);
  const entry = {
    command: server.command,
    args: server.args,
    env: Object.fromEntries(names.map((name) => [name, `\${${variable(name)}}`])),
  };
  const config = { mcpServers: { [server.name]: entry } };
  return {
    args: ['--mcp-config', JSON.stringify(config)],
    env: Object.fromEntries(Object.entries(server.env).map(([name, value]) => [variable(name), value])),
  };
}

const HOOK_SECONDS = 3;

/**
 * After Claude compacted its history, `reef state hook` tells it again what is true of the worktree. The server is
 * `reef mcp`, so the hook is the same program with other arguments, and reaches Reef through the same socket.
 */
function compactHook({ command: program, args, env }: Server) {
  const variables = Object.keys(env).map((name) => `${name}="$${variable(name)}"`);
  const words = [program, ...args.slice(0, -1), 'state', 'hook'].map(quoted);
  const hook = { type: 'command', command: [...variables, ...words].join(' '), timeout: HOOK_SECONDS };
  return { SessionStart: [{ matcher: 'compact', hooks: [hook] }] };
}

/** One word for a shell, whatever it holds. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export const LOGIN = 'run `claude`, then type /login';

const PLATFORMS = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
] as const;

const OF_OTHER_PROJECTS = [
  ...['projects', 'todos', 'tasks', 'plans', 'file-history', 'history.jsonl', 'paste-cache', 'image-cache', 'backups'],
  ...['shell-snapshots', 'session-env', 'statsig', 'telemetry', 'debug', 'cache', 'downloads', 'ide', 'local', 'logs'],
];

const STATE: AgentDescription['state'] = [
  {
    at: ['$CLAUDE_CONFIG_DIR', '~/.claude'],
    without: new RegExp(`^(?:${OF_OTHER_PROJECTS.join('|').replaceAll('.', '\\.')})$`),
    endpoints: ['settings.json'],
    // Beside a conversation lies a folder of its name with those of its sub-agents.
    sessions: {
      folder: 'projects',
      file: /^[\w.-]+\/[0-9a-f]{8}-[0-9a-f-]{27}(?:\.jsonl|\/[\w./-]+\.(?:jsonl?|txt))$/,
    },
    logins: {
      '.credentials.json': {
        same: ['claudeAiOauth.subscriptionType'],
        takes: ['claudeAiOauth.accessToken', 'claudeAiOauth.refreshToken', 'claudeAiOauth.expiresAt'],
        later: 'claudeAiOauth.expiresAt',
      },
    },
  },
  { at: ['~/.claude.json'], file: '{}\n' },
  { at: ['~/.cache/claude-cli-nodejs'], without: /./ },
];

export const description: AgentDescription = {
  name: 'claude',
  title: 'Claude Code',
  executable: 'claude',
  behindLauncher,
  versionArgs: ['--version'],
  tested: '2.1.325',
  minimum: '2.1.197',
  install: 'npm install -g @anthropic-ai/claude-code',
  login: LOGIN,
  loginSigns: [
    ...['$CLAUDE_CODE_OAUTH_TOKEN', '$ANTHROPIC_API_KEY', '$ANTHROPIC_AUTH_TOKEN'],
    ...['$CLAUDE_CONFIG_DIR/.credentials.json', '~/.claude/.credentials.json'],
  ],
  recorded: '2026-11-15',
  asks: ['permission', 'choice'],
  busyMessage: 'queues',
  resumes: true,
  ignoresRepeats: true,
  state: STATE,
  hosts: ['claude.ai', '*.claude.ai', 'claude.com', '*.claude.com', '*.anthropic.com'],
  project: { settings: ['.claude', '.mcp.json'], instructions: ['CLAUDE.md'] },
  shellKeys: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
  passEnv: [
    'CLAUDE_CONFIG_DIR',
    'CLAUDE_CODE_OAUTH_TOKEN',
    'HTTPS_PROXY',
    'HTTP_PROXY',
    'NO_PROXY',
    'NODE_EXTRA_CA_CERTS',
  ],
};

/**
 * The npm package carries a stub that its post-install script replaces by the native program. Where such scripts are off,
 * the stub only fails, or a Node wrapper starts the program and can be killed without it.
 */
function behindLauncher(realPath: string): string[] {
  const home = /^(.*\/@anthropic-ai\/claude-code)\/(?:bin\/claude\.exe|cli-wrapper\.cjs)$/.exec(realPath)?.[1];
  if (home === undefined) return [];
  const scopes = [dirname(home), join(home, 'node_modules/@anthropic-ai')];
  return scopes.flatMap((scope) => PLATFORMS.map((platform) => join(scope, `claude-code-${platform}`, 'claude')));
}
