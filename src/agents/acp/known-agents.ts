import { dirname, join, sep } from 'node:path';
import type { AgentDescription } from '../adapter.ts';

export interface KnownAgent
  extends Omit<AgentDescription, 'name' | 'executable' | 'versionArgs' | 'busyMessage' | 'ignoresRepeats'> {
  /** Program and arguments; the program is looked for on PATH. */
  command: [string, ...string[]];
  env: Record<string, string>;
  /** The method `authenticate` is called with; without one it is not called. */
  auth?: string;
}

const openCodePermissions = { permission: { bash: 'ask', edit: 'ask' } };

export const knownAcpAgents: Record<string, KnownAgent> = {
  'acp:gemini': {
    command: ['gemini', '--acp'],
    // Its launcher starts a second process that a SIGTERM does not reach.
    env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
    auth: 'gemini-api-key',
    title: 'Gemini CLI',
    tested: '0.61.0',
    install: 'npm install -g @google/gemini-cli',
    login: 'set GEMINI_API_KEY, or run `gemini` once and choose `auth: oauth-personal` in the configuration',
    loginSigns: ['$GEMINI_API_KEY', '$GOOGLE_API_KEY', '~/.gemini/oauth_creds.json'],
    recorded: '2026-11-15',
    asks: ['permission'],
    resumes: false,
    stateDirs: ['~/.gemini'],
    passEnv: [
      'GEMINI_API_KEY',
      'GOOGLE_API_KEY',
      'GOOGLE_GEMINI_BASE_URL',
      'GOOGLE_CLOUD_PROJECT',
      'GOOGLE_CLOUD_LOCATION',
    ],
  },
  'acp:opencode': {
    command: ['opencode', 'acp'],
    // By default it asks nothing.
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodePermissions) },
    title: 'opencode',
    tested: '1.18.33',
    install: 'npm install -g opencode-ai',
    login: 'opencode auth login',
    loginSigns: [
      ...['$OPENCODE_API_KEY', '$ANTHROPIC_API_KEY', '$OPENAI_API_KEY', '$GEMINI_API_KEY', '$OPENROUTER_API_KEY'],
      '~/.local/share/opencode/auth.json',
    ],
    recorded: '2026-11-15',
    asks: ['permission'],
    resumes: true,
    stateDirs: ['~/.local/share/opencode', '~/.local/state/opencode', '~/.cache/opencode', '~/.config/opencode'],
    passEnv: [
      'OPENCODE_CONFIG',
      'OPENCODE_API_KEY',
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GEMINI_API_KEY',
      'OPENROUTER_API_KEY',
    ],
    behindLauncher: openCodeBinaries,
  },
};

/** Without its install script the npm launcher only prints an error; the program lies in a package beside it. */
function openCodeBinaries(realPath: string): string[] {
  const launcher = join('opencode-ai', 'bin', '');
  if (!realPath.includes(`${sep}${launcher}`)) return [];
  const packages = dirname(dirname(dirname(realPath)));
  const name = `opencode-${process.platform}-${process.arch}`;
  // The baseline build first: the other one dies on older processors.
  return [`${name}-baseline`, name].map((folder) => join(packages, folder, 'bin', 'opencode'));
}
