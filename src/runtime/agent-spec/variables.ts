import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { envName, type Variables } from '../paths.ts';
import type { AgentSpec } from './spec.ts';

interface VariableSources {
  /** `--agent-variable`, `.agent NAME k=v`; wins over all. */
  given: Readonly<Record<string, string>>;
  /** Of a session that is taken up again. */
  stored: Readonly<Record<string, string>> | null;
  env: Variables;
  /** Fills `{{NAME}}` of the defaults from the vault. */
  fill(defaults: Record<string, string>): Promise<Record<string, string>>;
  /** Asks a person; absent off a terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

/** Every variable of an agent has a value, or one error names all that have none. */
export async function agentVariables(spec: AgentSpec, sources: VariableSources): Promise<Record<string, string>> {
  const { given, stored, env, ask } = sources;
  const fromEnv = environmentOf(spec.name, env);
  const known = { ...fromEnv, ...stored, ...given };
  const unset = spec.variables.filter(({ name }) => !Object.hasOwn(known, name));
  const presets = Object.fromEntries(
    unset.flatMap(({ name, default: preset }) => (preset === null ? [] : [[name, preset]])),
  );
  const values: Record<string, string> = { ...(await sources.fill(presets)), ...known };
  const missing = spec.variables.filter(({ name }) => !Object.hasOwn(values, name));
  if (missing.length > 0 && !ask) {
    const list = missing.map(({ name, description }) => (description === '' ? name : `${name} (${description})`));
    const details = { missing: missing.map(({ name }) => name) };
    throw new ReefError('agent_variables_missing', `agent ${spec.name} needs ${list.join(', ')}`, { details });
  }
  for (const { name, description } of missing) {
    values[name] = (await ask?.(description === '' ? name : `${name} (${description})`)) ?? '';
  }
  return Object.fromEntries(spec.variables.map(({ name }) => [name, values[name] ?? '']));
}

function environmentOf(agent: string, env: Variables): Record<string, string> {
  const name = `${envName(agent)}_VARIABLES`;
  const text = env[name];
  if (text === undefined || text === '') return {};
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(text));
  } catch (error) {
    throw new ReefError('config_invalid', `${name} is no JSON object of texts`, { cause: error });
  }
}

/** What an agent's tools see of its variables. */
export function variableEnvironment(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [`LLM_AGENT_VAR_${envName(name)}`, value]),
  );
}

/** `{{name}}` of the instructions; a name that is no variable stays. What is filled in is not looked at again. */
export function fillVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{\s*([A-Za-z_][\w-]*)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? '') : whole,
  );
}
