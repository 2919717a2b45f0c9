import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { ReefError } from '../../protocol/errors.ts';
import {
  type ConfigWarning,
  checkedBy,
  configInvalid,
  isProblem,
  parseSource,
  parseValue,
} from '../config/settings-file.ts';
import { envName, type Paths, type Variables } from '../paths.ts';
import { SHIPPED_AGENTS } from './shipped.ts';
import { type AgentSpec, agentSpecSchema } from './spec.ts';

interface AgentSource {
  paths: Paths;
  env: Variables;
  warn: (warning: ConfigWarning) => void;
}

type Raw = Record<string, unknown>;
const KEYS = Object.keys(agentSpecSchema.shape);

/** `agents/NAME/config.yaml`, or the one we ship, with `<NAME>_<KEY>` of the environment on top. */
export function loadAgentSpec(name: string, { paths, env, warn }: AgentSource): AgentSpec {
  const file = paths.agentConfigFile(name);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : shipped(name);
  if (text === undefined) throw new ReefError('agent_missing', `there is no agent ${name}`);
  const source = parseSource(file, text);
  if (isProblem(source)) throw configInvalid([source]);
  const value = { ...(source.value as Raw), ...fromEnvironment(name, env) };
  const spec = checkedBy({ ...source, value }, agentSpecSchema, { warn, what: 'key of an agent', known: KEYS });
  return Object.freeze({ ...spec, name, dir: paths.agentDataDir(name) });
}

export function listAgents(paths: Paths): string[] {
  const dir = paths.agentsDataDir();
  const own = existsSync(dir) ? readdirSync(dir).filter((name) => existsSync(paths.agentConfigFile(name))) : [];
  return [...new Set([...own, ...Object.keys(SHIPPED_AGENTS)])].sort();
}

function shipped(name: string): string | undefined {
  return Object.hasOwn(SHIPPED_AGENTS, name) ? SHIPPED_AGENTS[name as keyof typeof SHIPPED_AGENTS] : undefined;
}

const TEXT_KEYS = ['model', 'agent_session', 'instructions'] as const;
const DATA_KEYS = ['temperature', 'top_p', 'global_tools', 'mcp_servers'] as const;

/** Lists may be JSON or comma lists; `<NAME>_VARIABLES` is read with the other variables. */
function fromEnvironment(name: string, env: Variables): Raw {
  const prefix = envName(name);
  const raw: Raw = {};
  const of = (key: string) => env[`${prefix}_${key.toUpperCase()}`];
  for (const key of TEXT_KEYS) if (of(key) !== undefined) raw[key] = of(key);
  for (const key of DATA_KEYS) {
    const text = of(key);
    if (text !== undefined) raw[key] = parseValue(text);
  }
  return raw;
}
