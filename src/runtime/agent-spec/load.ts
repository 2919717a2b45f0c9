import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { nearestKey } from '../config/nearest-key.ts';
import { type ConfigWarning, isProblem, parseYaml, type YamlFile } from '../config/yaml-file.ts';
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
  const yaml = parseYaml(file, text);
  if (isProblem(yaml)) throw invalid(file, [`${yaml.line ?? '?'}: ${yaml.found}`]);
  const raw = { ...(yaml.value as Raw), ...fromEnvironment(name, env) };
  for (const key of Object.keys(raw).filter((each) => !KEYS.includes(each))) {
    const nearest = nearestKey(key, KEYS);
    const meant = nearest === undefined ? '' : `: did you mean ${nearest}?`;
    warn({ file, line: yaml.lineOf([key]), message: `${key} is no key of an agent and is ignored${meant}` });
    delete raw[key];
  }
  const parsed = agentSpecSchema.safeParse(raw);
  if (!parsed.success)
    throw invalid(
      file,
      parsed.error.issues.map((issue) => place(issue, yaml)),
    );
  return Object.freeze({ ...parsed.data, name, dir: paths.agentDataDir(name) });
}

export function listAgents(paths: Paths): string[] {
  const dir = paths.agentsDataDir();
  const own = existsSync(dir) ? readdirSync(dir).filter((name) => existsSync(paths.agentConfigFile(name))) : [];
  return [...new Set([...own, ...Object.keys(SHIPPED_AGENTS)])].sort();
}

function place(issue: z.core.$ZodIssue, yaml: YamlFile): string {
  return `${yaml.lineOf(issue.path) ?? '?'}: ${issue.path.join('.')}: ${issue.message}`;
}

function invalid(file: string, problems: readonly string[]): ReefError {
  return new ReefError('config_invalid', problems.map((problem) => `${file}:${problem}`).join('\n'));
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
    if (text !== undefined) raw[key] = dataOf(text);
  }
  return raw;
}

function dataOf(text: string): unknown {
  try {
    return parse(text, { schema: 'core', maxAliasCount: 0 });
  } catch {
    return text;
  }
}
