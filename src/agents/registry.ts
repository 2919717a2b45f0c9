import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../protocol/errors.ts';
import { acpAdapter } from './acp/adapter.ts';
import { knownAcpAgents } from './acp/known-agents.ts';
import type { Adapter, Json } from './adapter.ts';
import { claudeAdapter } from './claude/adapter.ts';
import { codexAdapter } from './codex/adapter.ts';
import { codexExecAdapter } from './codex/exec-adapter.ts';
import { CODER } from './native-agents.ts';
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
}

export interface RegisteredAgent {
  adapter: Adapter;
  settings: AgentSettings;
}

const CODER_HOST = fileURLToPath(new URL('../programs/native-coder.ts', import.meta.url));
/** Any other agent of the user's own, by its folder's name. */
const NATIVE = /^native:([A-Za-z0-9][\w.-]{0,127})$/;
/** The agent somebody talks to in `reef ask` or `reef chat`, as a job while it has others at work. */
const CHAT = /^chat:([A-Za-z0-9][\w.-]{0,127})$/;
const AGENT_HOST = fileURLToPath(new URL('../programs/native-agent.ts', import.meta.url));
/** Where models and keys are configured, and keys themselves. */
const MODEL_VARIABLES = [
  ...['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'REEF_CONFIG_DIR', 'REEF_MODEL', 'REEF_PLATFORM'],
  ...['ANTHROPIC_API_KEY', 'CLAUDE_API_KEY', 'OPENAI_API_KEY', 'GEMINI_API_KEY', 'GOOGLE_API_KEY'],
];
const PLAYER = fileURLToPath(new URL('./reef-protocol/scripted-agent.ts', import.meta.url));

/** Agent names to adapters: the one place that knows them all. */
export class AdapterRegistry {
  readonly #settings: () => Record<string, AgentSettings>;

  constructor(settings: () => Record<string, AgentSettings>) {
    this.#settings = settings;
  }

  get(name: string): RegisteredAgent {
    if (name.startsWith('scripted:')) return scripted(name);
    if (NATIVE.test(name)) return native(name, this.#settings()[name] ?? {});
    if (CHAT.test(name)) return chat(name);
    const settings = this.#settings()[name] ?? {};
    const adapter = builtIn(name) ?? configurable(name, settings, this.isConfigured(name));
    if (adapter) return { adapter, settings };
    throw new ReefError(
      'agent_unknown',
      `there is no agent "${name}"; known: ${this.names().join(', ')}, scripted:<file>`,
    );
  }

  /** Whether what such an agent starts is of no use without it, also when its name means nothing any more. */
  ownsChildren(name: string): boolean {
    return NATIVE.test(name) || CHAT.test(name);
  }

  /** Agents of the user's own: those of a family live in one process, and they are talked to outside repositories too. */
  isHosted(name: string): boolean {
    return this.ownsChildren(name) && name !== CODER;
  }

  /** Whether the user's own configuration names it. */
  isConfigured(name: string): boolean {
    return Object.hasOwn(this.#settings(), name);
  }

  names(): string[] {
    return [
      ...new Set([
        'claude',
        'codex',
        'codex-exec',
        CODER,
        ...Object.keys(knownAcpAgents),
        ...Object.keys(this.#settings()),
      ]),
    ];
  }
}

function builtIn(name: string): Adapter | undefined {
  if (name === 'claude') return generic(claudeAdapter);
  if (name === 'codex') return generic(codexAdapter);
  return name === 'codex-exec' ? generic(codexExecAdapter) : undefined;
}

/** Any other agent speaks ACP or the reef protocol; ACP agents we know need no command in the configuration. */
function configurable(name: string, settings: AgentSettings, isConfigured: boolean): Adapter | undefined {
  const isKnown = isConfigured || Object.hasOwn(knownAcpAgents, name);
  if (name.startsWith('acp:') && isKnown) return generic(acpAdapter(name, settings));
  return name.startsWith('wire:') && isConfigured ? generic(reefProtocolAdapter(name)) : undefined;
}

/** Reef's own agent is a program on the reef protocol like any other. */
function native(name: string, settings: AgentSettings): RegisteredAgent {
  const wire = reefProtocolAdapter(name);
  const adapter: Adapter<null> = {
    ...wire,
    // It reads models and keys from Reef's own configuration, and keeps what it needs after a restart in Reef's home.
    describe: () => ({ ...wire.describe(), passEnv: MODEL_VARIABLES, sandbox: false }),
  };
  const agent = NATIVE.exec(name)?.[1] ?? '';
  const program: [string, ...string[]] = name === CODER ? [CODER_HOST] : [AGENT_HOST, '--agent', agent];
  const env = { ...compileCache(), ...settings.env };
  return { adapter: generic(adapter), settings: { command: [process.execPath, ...program], ...settings, env } };
}

/** Its process carries bytes to the one that asked for it, and has no conversation of its own to go on with. */
function chat(name: string): RegisteredAgent {
  const wire = reefProtocolAdapter(name);
  const adapter: Adapter<null> = {
    ...wire,
    describe: () => ({ ...wire.describe(), resumes: false }),
  };
  const program = [AGENT_HOST, '--chat', '--agent', CHAT.exec(name)?.[1] ?? ''];
  return { adapter: generic(adapter), settings: { command: [process.execPath, ...program], env: compileCache() } };
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
  const command: [string, ...string[]] = [process.execPath, PLAYER, file];
  return { adapter: generic(reefProtocolAdapter(name)), settings: { command, env: compileCache() } };
}

/** What the daemon has compiled its programs need not compile again: half the start, and 30 MB less each. */
function compileCache(): Record<string, string> {
  const cache = getCompileCacheDir();
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) };
}

/** The manager keeps an adapter's state without looking into it. */
function generic<S extends Json>(adapter: Adapter<S>): Adapter {
  return adapter as unknown as Adapter;
}
