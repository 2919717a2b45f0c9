import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** The real agent command lines that `scripts/install-agents.ts` puts beside this file, each pointed at the scripted model. */

const here = import.meta.dirname;
const modules = join(here, 'node_modules');

export const agentNames = ['claude', 'codex', 'gemini', 'opencode'] as const;
export type AgentName = (typeof agentNames)[number];

export interface RealAgent {
  name: AgentName;
  version: string;
  available: boolean;
  /** Why not, and what to do. */
  why?: string;
  /** What is run: the native program, not a wrapper that would survive or orphan it. */
  file: string;
  /** The whole environment of the process; writes the agent's settings into `home`. */
  env(modelUrl: string, home: string): Record<string, string>;
}

interface Kind {
  package: string;
  /** Where the program may lie, best first; `*` stands for one folder. */
  files: string[];
  env(modelUrl: string, home: string): Record<string, string>;
}

const platform = `${process.platform}-${process.arch}`;

function write(folder: string, name: string, text: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), text);
}

function claudeEnv(modelUrl: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'sk-ant-dummy',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
    CLAUDE_CODE_MAX_RETRIES: '3',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
  };
}

function codexEnv(modelUrl: string, home: string): Record<string, string> {
  const folder = join(home, 'codex');
  const config = `model = "gpt-5.5-codex"
model_provider = "fake"
check_for_update_on_startup = false

[model_providers.fake]
name = "fake"
base_url = "${modelUrl}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"

[analytics]
enabled = false

[features]
plugins = false # their catalogue comes from outside
`;
  write(folder, 'config.toml', config);
  return { CODEX_HOME: folder, FAKE_API_KEY: 'dummy' };
}

function geminiEnv(modelUrl: string, home: string): Record<string, string> {
  const settings = {
    general: { disableAutoUpdate: true, disableUpdateNag: true },
    privacy: { usageStatisticsEnabled: false },
    // In a folder it does not trust, gemini starts no MCP server.
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
  };
  write(join(home, '.gemini'), 'settings.json', JSON.stringify(settings));
  return { GOOGLE_GEMINI_BASE_URL: modelUrl, GEMINI_API_KEY: 'dummy', GEMINI_CLI_NO_RELAUNCH: 'true' };
}

function opencodeEnv(modelUrl: string, home: string): Record<string, string> {
  const model = {
    name: 'Fake',
    tool_call: true,
    limit: { context: 200_000, output: 8_000 },
    cost: { input: 3, output: 15 },
  };
  const options = { baseURL: `${modelUrl}/v1`, apiKey: 'dummy' };
  // A file, for Reef's adapter has a use of its own for OPENCODE_CONFIG_CONTENT; opencode merges the two.
  const config = {
    autoupdate: false,
    share: 'disabled',
    model: 'fake/fake-model',
    small_model: 'fake/fake-model',
    provider: { fake: { npm: '@ai-sdk/openai-compatible', name: 'Fake', options, models: { 'fake-model': model } } },
  };
  write(join(home, '.config', 'opencode'), 'opencode.json', JSON.stringify(config));
  // It fetches a package for plugins at every start, and goes on without when that fails. A sandbox forwards no lower port.
  write(home, '.npmrc', 'registry=http://127.0.0.1:65535/\n');
  return {
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ permission: { bash: 'ask', edit: 'ask' } }),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  };
}

const kinds: Record<AgentName, Kind> = {
  claude: {
    package: '@anthropic-ai/claude-code',
    files: [`@anthropic-ai/claude-code-${platform}/claude`, `@anthropic-ai/claude-code-${platform}-musl/claude`],
    env: claudeEnv,
  },
  codex: { package: '@openai/codex', files: [`@openai/codex-${platform}/vendor/*/bin/codex`], env: codexEnv },
  gemini: { package: '@google/gemini-cli', files: ['@google/gemini-cli/bundle/gemini.js'], env: geminiEnv },
  opencode: {
    package: 'opencode-ai',
    // The baseline build runs on processors without AVX2 too.
    files: ['-baseline', '', '-baseline-musl', '-musl'].map((kind) => `opencode-${platform}${kind}/bin/opencode`),
    env: opencodeEnv,
  },
};

function expand(pattern: string): string[] {
  const [before = '', after] = join(modules, pattern).split('*');
  if (after === undefined) return [before];
  return existsSync(before) ? readdirSync(before).map((name) => `${before}${name}${after}`) : [];
}

function readJson(file: string): Record<string, unknown> {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function installedVersion(name: string): unknown {
  const file = join(modules, name, 'package.json');
  return existsSync(file) ? readJson(file).version : undefined;
}

const remedy = 'run: node scripts/install-agents.ts';

function problem(version: string, kind: Kind, file: string | undefined): string | undefined {
  if (process.env.REEF_REAL_AGENTS === '0') return 'left out by REEF_REAL_AGENTS=0';
  const installed = installedVersion(kind.package);
  if (installed === undefined) return `not installed; ${remedy}`;
  if (installed !== version) return `${installed} is installed, ${version} is wanted; ${remedy}`;
  return file === undefined ? `no program for ${platform} came with ${kind.package}` : undefined;
}

export function realAgent(name: AgentName): RealAgent {
  const kind = kinds[name];
  const pins = readJson(join(here, 'package.json')).dependencies as Record<string, string>;
  const version = pins[kind.package] ?? '';
  const file = kind.files.flatMap(expand).find((path) => existsSync(path));
  const why = problem(version, kind, file);
  return {
    name,
    version,
    available: why === undefined,
    ...(why === undefined ? {} : { why }),
    file: file ?? '',
    env(modelUrl, home) {
      const temporary = join(home, 'tmp');
      mkdirSync(temporary, { recursive: true });
      return {
        // gemini is a script whose first line asks for `node`: it shall be ours.
        PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ''}`,
        HOME: home,
        TMPDIR: temporary,
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
        ...kind.env(modelUrl, home),
      };
    },
  };
}

/** A fresh home for one run; whoever makes it removes it. Below the temporary folder Codex's sandbox breaks. */
export function makeAgentHome(): string {
  return mkdtempSync('/var/tmp/reef-agent-home-');
}
