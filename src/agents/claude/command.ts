import type { HostFacts, LaunchPlan, LaunchRequest } from '../adapter.ts';

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
  // By default ten, up to 37 s each, also after a refused key.
  CLAUDE_CODE_MAX_RETRIES: '3',
  ...QUIET,
};

export function command(request: LaunchRequest, host: HostFacts): LaunchPlan {
  const [file, ...leading] = host.command;
  const common = commonOptions(request);
  return {
    file,
    args: [...leading, ...PROTOCOL, ...common.args],
    env: { ...ENV, ...common.env },
    stdin: 'fifo',
    greeting: [],
  };
}

/** Its window gets a title when its conversation begins: after its questions about key and folder, before it is typed into. */
const TITLE = '\u001b]0;';

export function terminal(request: LaunchRequest, host: HostFacts): LaunchPlan {
  const [file, ...leading] = host.command;
  const common = commonOptions(request);
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

/** The folder's own servers and settings stay out: nothing in a repository is configuration. */
function commonOptions({ sessionId, freshSessionId, model, mcp, readonly }: LaunchRequest) {
  const session = sessionId === undefined ? ['--session-id', freshSessionId] : ['--resume', sessionId];
  const server = mcp === undefined ? { args: [], env: {} } : mcpServer(mcp);
  const args = [
    ...session,
    ...(model === undefined ? [] : ['--model', model]),
    ...(readonly ? [`--disallowedTools=${WRITING_TOOLS}`] : []),
    '--strict-mcp-config',
    ...server.args,
    '--setting-sources',
    'user',
  ];
  return { args, env: server.env };
}

type Server = NonNullable<LaunchRequest['mcp']>;

const variable = (name: string) => `REEF_MCP_${name}`;

/** Arguments can be read by every user of the machine, so values come from the environment, which Claude fills in. */
function mcpServer(server: Server): { args: string[]; env: Record<string, string> } {
  const names = Object.keys(server.env);
  const entry = {
    command: server.command,
    args: server.args,
    env: Object.fromEntries(names.map((name) => [name, `\${${variable(name)}}`])),
  };
  const config = { mcpServers: { [server.name]: entry } };
  return {
    args: ['--mcp-config', JSON.stringify(config), '--settings', JSON.stringify({ hooks: compactHook(server) })],
    env: Object.fromEntries(Object.entries(server.env).map(([name, value]) => [variable(name), value])),
  };
}

const HOOK_SECONDS = 3;

/**
 * What Claude forgets when it compacts its history, the worktree still knows: `reef state hook` prints it (S-49). The server is
 * `reef mcp`, so the hook is the same program with another word, and reaches Reef through the same door.
 */
function compactHook({ command: program, args, env }: Server) {
  const door = Object.keys(env).map((name) => `${name}="$${variable(name)}"`);
  const words = [program, ...args.slice(0, -1), 'state', 'hook'].map(quoted);
  const hook = { type: 'command', command: [...door, ...words].join(' '), timeout: HOOK_SECONDS };
  return { SessionStart: [{ matcher: 'compact', hooks: [hook] }] };
}

/** One word for a shell, whatever it holds. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
