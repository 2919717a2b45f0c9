import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../protocol/errors.ts';
import { acpAdapter } from './acp/adapter.ts';
import { knownAcpAgents } from './acp/known-agents.ts';
import type { Adapter, AgentDescription } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { codexAdapter } from './codex/adapter.ts';
import { codexExecAdapter } from './codex/exec-adapter.ts';
import { CODER } from './native-agents.ts';
import { olderName, plainName } from './plain-name.ts';
import { reefProtocolAdapter } from './reef-protocol/adapter.ts';
import { parseScript } from './reef-protocol/script.ts';

/** One agent's entry in the user's configuration. */
export interface AgentSettings {
  /** Program and leading arguments, in place of what PATH has. */
  command?: [string, ...string[]] | undefined;
  /** Set for the agent alone; secrets belong here and are redacted from everything shown. */
  env?: Record<string, string> | undefined;
  /** ACP: the authentication method to name. */
  auth?: string | undefined;
  /** Names of variables of the user's shell that reach the agent. */
  pass_env?: readonly string[] | undefined;
}

export interface RegisteredAgent {
  adapter: Adapter;
  settings: AgentSettings;
}

const CODER_PROGRAM = fileURLToPath(new URL('../programs/native-coder.ts', import.meta.url));
/** An agent of the user's own, named like its folder. */
const NATIVE = /^native:([A-Za-z0-9][\w.-]{0,127})$/;
/** The agent of `reef ask` or `reef chat`, which is a job while it has others at work. */
const CHAT = /^chat:([A-Za-z0-9][\w.-]{0,127})$/;
const AGENT_PROGRAM = fileURLToPath(new URL('../programs/native-agent.ts', import.meta.url));
/** `claude@work`: the same agent with settings of its own, such as another folder for its log-in. */
const OTHER_ACCOUNT = /@[A-Za-z0-9][\w.-]{0,63}$/;
/** Where models and keys are configured, and the keys themselves. */
const MODEL_VARIABLES = [
  ...['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'REEF_CONFIG_DIR', 'REEF_MODEL', 'REEF_PLATFORM'],
  ...['ANTHROPIC_API_KEY', 'CLAUDE_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
];
const SCRIPTED_PROGRAM = fileURLToPath(new URL('./reef-protocol/scripted-agent.ts', import.meta.url));

/** Agent names to adapters: the one place that knows them all. */
export class AdapterRegistry {
  readonly #settings: () => Record<string, AgentSettings>;

  constructor(settings: () => Record<string, AgentSettings>) {
    this.#settings = settings;
  }

  get(given: string): RegisteredAgent {
    const name = plainName(given);
    if (name.startsWith('scripted:')) return scripted(name);
    if (NATIVE.test(name)) return native(name, this.#settingsOf(name));
    if (CHAT.test(name)) return chat(name);
    const settings = this.#settingsOf(name);
    const adapter = adapterOf(name, settings, this.isConfigured(name));
    if (adapter) return { adapter, settings };
    const known = [...this.names(), 'scripted:<file>'].join(', ');
    throw new ReefError('agent_unknown', `there is no agent "${given}"; known: ${known}`);
  }

  /** Whether what the agent starts is of no use without it. The agent itself may no longer exist. */
  ownsChildren(name: string): boolean {
    return NATIVE.test(name) || CHAT.test(name);
  }

  /** Whether it is an agent of the user's own. A family of these lives in one process, and may work outside repositories. */
  isHosted(name: string): boolean {
    return this.ownsChildren(name) && name !== CODER;
  }

  /** Whether the user's own configuration names it. */
  isConfigured(name: string): boolean {
    return Object.keys(this.#settings()).some((each) => plainName(each) === plainName(name));
  }

  #settingsOf(name: string): AgentSettings {
    const all = this.#settings();
    return all[name] ?? all[olderName(name) ?? ''] ?? {};
  }

  names(): string[] {
    const builtIn = ['claude', 'codex', 'codex-exec', CODER, ...Object.keys(knownAcpAgents)];
    return [...new Set([...builtIn, ...Object.keys(this.#settings()).map(plainName)])];
  }
}

/** The names of all settings by which a repository steers an agent. */
export function projectSettingNames(): string[] {
  const all = [claudeAdapter.describe(), codexAdapter.describe(), ...Object.values(knownAcpAgents)];
  return all.flatMap(({ project }) => project?.settings ?? []);
}

/** Any other agent speaks ACP or the reef protocol. ACP agents that Reef knows need no command in the configuration. */
function adapterOf(given: string, settings: AgentSettings, isConfigured: boolean): Adapter | undefined {
  const name = isConfigured ? given.replace(OTHER_ACCOUNT, '') : given;
  if (name === 'claude') return claudeAdapter;
  if (name === 'codex') return codexAdapter;
  if (name === 'codex-exec') return codexExecAdapter;
  const isAcp = Object.hasOwn(knownAcpAgents, name) || (name.startsWith('acp:') && isConfigured);
  if (isAcp) return acpAdapter(name, settings);
  return name.startsWith('wire:') && isConfigured ? reefProtocolAdapter(name) : undefined;
}

/** It reads models and keys from Reef's own configuration, and keeps what it needs after a restart in Reef's home. */
function native(name: string, settings: AgentSettings): RegisteredAgent {
  const agent = NATIVE.exec(name)?.[1] ?? '';
  const program = name === CODER ? [CODER_PROGRAM] : [AGENT_PROGRAM, '--agent', agent];
  const { adapter, settings: own } = reefProgram(name, program, { passEnv: MODEL_VARIABLES, sandbox: false });
  return { adapter, settings: { ...own, ...settings, env: { ...own.env, ...settings.env } } };
}

/**
 * Its process carries bytes to the one that asked for it, and has no conversation of its own to resume. That one is in no
 * sandbox, and the agents it starts are native ones.
 */
function chat(name: string): RegisteredAgent {
  const program = [AGENT_PROGRAM, '--chat', '--agent', CHAT.exec(name)?.[1] ?? ''];
  return reefProgram(name, program, { resumes: false, sandbox: false });
}

/** A script is checked before anything is started. */
function scripted(name: string): RegisteredAgent {
  const file = name.slice('scripted:'.length);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ReefError('script_invalid', `the script ${file} cannot be read`, { cause: error });
  }
  parseScript(text);
  return reefProgram(name, [SCRIPTED_PROGRAM, file], { reads: [file] });
}

/**
 * A program of Reef's own speaks the reef protocol like any other. What the daemon has compiled it need not compile again:
 * that halves its start and saves 30 MB.
 */
function reefProgram(name: string, program: string[], about: Partial<AgentDescription>): RegisteredAgent {
  const adapter = reefProtocolAdapter(name);
  const cache = getCompileCacheDir();
  const env: Record<string, string> = cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
  return {
    adapter: { ...adapter, describe: () => ({ ...adapter.describe(), ...about }) },
    settings: { command: [process.execPath, ...program], env },
  };
}
