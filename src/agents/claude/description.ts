import { dirname, join } from 'node:path';
import type { AgentDescription } from '../adapter.ts';

export const LOGIN = 'run `claude`, then type /login';

const PLATFORMS = [
  'linux-x64',
  'linux-arm64',
  'linux-x64-musl',
  'linux-arm64-musl',
  'darwin-arm64',
  'darwin-x64',
] as const;

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
    ...['$CLAUDE_CODE_USE_BEDROCK', '$CLAUDE_CODE_USE_VERTEX'],
    ...['$CLAUDE_CONFIG_DIR/.credentials.json', '~/.claude/.credentials.json'],
  ],
  recorded: '2026-11-15',
  asks: ['permission', 'choice'],
  busyMessage: 'queues',
  resumes: true,
  ignoresRepeats: true,
  settings: { '$CLAUDE_CONFIG_DIR/settings.json': '{}\n', '~/.claude/settings.json': '{}\n' },
  stateDirs: ['$CLAUDE_CONFIG_DIR', '~/.claude', '~/.claude.json', '~/.cache/claude-cli-nodejs'],
  // A key or another endpoint moves billing and sends the prompts elsewhere: both are configured or absent.
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
 * The npm package carries a stub that its post-install script replaces by the native program. Where such scripts are
 * off the stub only fails, or a Node wrapper starts the program and would survive without it.
 */
function behindLauncher(realPath: string): string[] {
  const home = /^(.*\/@anthropic-ai\/claude-code)\/(?:bin\/claude\.exe|cli-wrapper\.cjs)$/.exec(realPath)?.[1];
  if (home === undefined) return [];
  const scopes = [dirname(home), join(home, 'node_modules/@anthropic-ai')];
  return scopes.flatMap((scope) => PLATFORMS.map((platform) => join(scope, `claude-code-${platform}`, 'claude')));
}
