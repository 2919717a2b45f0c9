import { dirname, join } from 'node:path';
import type { AgentDescription } from '../adapter.ts';

const TESTED = '0.166.0';
export const LOGIN = 'codex login';

/** npm package and target of each native binary; only the one for this machine is ever installed. */
const PLATFORMS = [
  ['linux-x64', 'x86_64-unknown-linux-musl'],
  ['linux-arm64', 'aarch64-unknown-linux-musl'],
  ['darwin-x64', 'x86_64-apple-darwin'],
  ['darwin-arm64', 'aarch64-apple-darwin'],
] as const;

/**
 * Killing the Node launcher may leave the native binary alive, so that one is started itself. Its package lies beside
 * the launcher's (npm, pnpm) or below it; an own download keeps `vendor` in the launcher's package.
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
  /** It returns our id with a message, and yet runs a repeated one again. */
  ignoresRepeats: false,
  stateDirs: ['$CODEX_HOME', '~/.codex'],
  settings: { '$CODEX_HOME/config.toml': '', '~/.codex/config.toml': '' },
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
});
