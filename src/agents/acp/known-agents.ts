import { dirname, join, sep } from 'node:path';
import type { AgentDescription } from '../adapter.ts';
import { loadsProject, type ProjectFiles } from '../project-files.ts';

export interface KnownAgent
  extends Omit<AgentDescription, 'name' | 'executable' | 'versionArgs' | 'busyMessage' | 'ignoresRepeats'> {
  /** Program and arguments; the program is looked for on PATH. */
  command: [string, ...string[]];
  env: Record<string, string>;
  /** Variables that make it read the settings of its folder, or leave them alone and still read the instructions. */
  projectEnv?(project: ProjectFiles | undefined): Record<string, string>;
  /** Without the settings of its folder it reads no instructions from there either: they go with the first message. */
  readsNoInstructions?: true;
  /** What differs when another method than `auth` is configured. */
  byAuth?: Readonly<Record<string, Pick<AgentDescription, 'loginSigns' | 'shellKeys'>>>;
  /** Lines of its stderr that it writes at every launch and that say nothing. */
  routine?: RegExp;
  /** The method `authenticate` is called with; without one it is not called. */
  auth?: string;
}

const openCodePermissions = { permission: { bash: 'ask', edit: 'ask' } };

export const knownAcpAgents: Record<string, KnownAgent> = {
  gemini: {
    command: ['gemini', '--acp'],
    // Its launcher starts a second process that a SIGTERM does not reach.
    env: { GEMINI_CLI_NO_RELAUNCH: 'true' },
    // Without trust it reads no `.gemini` and no `.env`, and starts no server at all, Reef's neither.
    projectEnv: (project) => ({ GEMINI_CLI_TRUST_WORKSPACE: String(loadsProject(project)) }),
    readsNoInstructions: true,
    routine:
      /^\[STARTUP\] |^Could not find promptId in context for [\w-]+\. This is unexpected\. Using a fallback ID: /,
    project: { settings: ['.gemini'], instructions: ['GEMINI.md'] },
    auth: 'gemini-api-key',
    title: 'Gemini CLI',
    tested: '0.61.0',
    install: 'npm install -g @google/gemini-cli',
    login: 'set GEMINI_API_KEY, or run `gemini` once and choose `auth: oauth-personal` in the configuration',
    loginSigns: ['$GEMINI_API_KEY', '$GOOGLE_API_KEY'],
    shellKeys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GEMINI_BASE_URL'],
    byAuth: { 'oauth-personal': { loginSigns: ['~/.gemini/oauth_creds.json'], shellKeys: [] } },
    recorded: '2026-11-15',
    asks: ['permission'],
    resumes: false,
    state: [
      {
        at: ['~/.gemini'],
        endpoints: ['settings.json', '.env'],
        without: /^(?:tmp|history|antigravity.*|.*\.tmp)$/,
        sessions: { folder: 'tmp', file: /^[\w.-]+\/(?:\.project_root|chats\/session-[\w-]+\.jsonl?)$/ },
        logins: {
          'oauth_creds.json': {
            same: ['refresh_token'],
            takes: ['access_token', 'id_token', 'expiry_date'],
            later: 'expiry_date',
          },
        },
      },
    ],
    hosts: [
      ...['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'aiplatform.googleapis.com'],
      ...['oauth2.googleapis.com', 'accounts.google.com', 'www.googleapis.com'],
    ],
    passEnv: ['GOOGLE_CLOUD_PROJECT', 'GOOGLE_CLOUD_LOCATION'],
  },
  opencode: {
    command: ['opencode', 'acp'],
    // By default it asks nothing.
    env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodePermissions) },
    projectEnv: (project) => {
      if (loadsProject(project)) return {};
      const instructions = project?.instructions.map(({ path }) => path) ?? [];
      const config = JSON.stringify({ ...openCodePermissions, instructions });
      return { OPENCODE_DISABLE_PROJECT_CONFIG: '1', OPENCODE_CONFIG_CONTENT: config };
    },
    project: { settings: ['opencode.json', 'opencode.jsonc', '.opencode'], instructions: ['AGENTS.md', 'CLAUDE.md'] },
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
    // Its conversations lie in one database for all projects: they stay with the job, where a resume finds them.
    state: [
      {
        at: ['~/.local/share/opencode'],
        without: /^(?:opencode.*\.db.*|storage|snapshot|log|tool-output|worktree|project)$/,
        logins: {
          'auth.json': { each: true, same: ['type'], takes: ['access', 'refresh', 'expires'], later: 'expires' },
        },
      },
      { at: ['~/.local/state/opencode'], without: /./ },
      { at: ['~/.cache/opencode'] },
      { at: ['~/.config/opencode'], endpoints: ['opencode.json', 'opencode.jsonc', 'config.json'] },
    ],
    hosts: [
      ...['opencode.ai', 'api.opencode.ai', 'models.dev', 'api.anthropic.com', 'api.openai.com', 'openrouter.ai'],
      'generativelanguage.googleapis.com',
    ],
    shellKeys: ['OPENCODE_API_KEY', 'ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'OPENROUTER_API_KEY'],
    passEnv: ['OPENCODE_CONFIG'],
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
