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

const ENV = {
  CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
  // By default ten, up to 37 s each, also after a refused key.
  CLAUDE_CODE_MAX_RETRIES: '3',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
};

export function command(request: LaunchRequest, host: HostFacts): LaunchPlan {
  const [file, ...leading] = host.command;
  const session =
    request.sessionId === undefined ? ['--session-id', request.freshSessionId] : ['--resume', request.sessionId];
  const model = request.model === undefined ? [] : ['--model', request.model];
  const mcp = request.mcp === undefined ? { args: [], env: {} } : mcpServer(request.mcp);
  return {
    file,
    args: [
      ...leading,
      ...PROTOCOL,
      ...session,
      ...model,
      '--strict-mcp-config',
      ...mcp.args,
      '--setting-sources',
      'user',
    ],
    env: { ...ENV, ...mcp.env },
    stdin: 'fifo',
    greeting: [],
  };
}

/** Arguments can be read by every user of the machine, so values come from the environment, which Claude fills in. */
function mcpServer(server: NonNullable<LaunchRequest['mcp']>): { args: string[]; env: Record<string, string> } {
  const variable = (name: string) => `REEF_MCP_${name}`;
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
