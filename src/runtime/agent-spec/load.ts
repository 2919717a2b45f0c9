import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ReefError } from '../../protocol/errors.ts';
import {
  type ConfigWarning,
  checkedBy,
  configInvalid,
  isProblem,
  parseSource,
  parseValue,
  readIfThere,
} from '../config/settings-file.ts';
import { envName, namesIn, type Paths, safeName, type Variables } from '../paths.ts';
import { type AgentSpec, agentSpecSchema } from './spec.ts';

interface AgentSource {
  paths: Paths;
  env: Variables;
  warn: (warning: ConfigWarning) => void;
}

/** The agents that come with Reef. A folder of the same name in `agents/` replaces one. */
const SHIPPED = fileURLToPath(new URL('shipped', import.meta.url));

const KEYS = Object.keys(agentSpecSchema.shape);

/** `agents/NAME/config.yaml`, or the built-in agent of that name. `<NAME>_<KEY>` of the environment wins over both. */
export function loadAgentSpec(name: string, { paths, env, warn }: AgentSource): AgentSpec {
  const file = paths.agentConfigFile(name);
  const text = readIfThere(file) ?? shippedAgent(name);
  if (text === undefined) throw new ReefError('agent_missing', `there is no agent ${name}`);
  const source = parseSource(file, text);
  if (isProblem(source)) throw configInvalid([source]);
  const value = { ...(source.value as object), ...fromEnvironment(name, env) };
  const spec = checkedBy({ ...source, value }, agentSpecSchema, { warn, what: 'key of an agent', known: KEYS });
  return Object.freeze({ ...spec, name, dir: paths.agentDataDir(name) });
}

export function listAgents(paths: Paths): string[] {
  const dir = paths.agentsDataDir();
  const own = existsSync(dir) ? readdirSync(dir).filter((name) => existsSync(paths.agentConfigFile(name))) : [];
  return [...new Set([...own, ...namesIn(SHIPPED, '.yaml')])].sort();
}

export function shippedAgent(name: string): string | undefined {
  return readIfThere(join(SHIPPED, `${safeName(name)}.yaml`));
}

/** How each key is read from the environment. Lists may be JSON or comma lists. */
const ENV_KEYS: Readonly<Record<string, (text: string) => unknown>> = {
  model: String,
  agent_session: String,
  instructions: String,
  temperature: parseValue,
  top_p: parseValue,
  global_tools: parseValue,
  mcp_servers: parseValue,
};

function fromEnvironment(name: string, env: Variables): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ENV_KEYS).flatMap(([key, read]) => {
      const text = env[`${envName(name)}_${key.toUpperCase()}`];
      return text === undefined ? [] : [[key, read(text)]];
    }),
  );
}
