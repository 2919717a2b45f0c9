import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { ReefError } from '../../protocol/errors.ts';
import { envName, type Variables } from '../paths.ts';
import type { AgentSpec } from './spec.ts';

interface VariableSources {
  /** From `--agent-variable` and `.agent NAME k=v`; they win over all others. */
  given: Readonly<Record<string, string>>;
  /** From the session that is resumed. */
  stored: Readonly<Record<string, string>> | null;
  env: Variables;
  /** Fills `{{NAME}}` of the defaults from the vault. */
  fill(defaults: Record<string, string>): Promise<Record<string, string>>;
  /** Asks a person; absent without a terminal. */
  ask?: ((question: string) => Promise<string>) | undefined;
}

/** The values of all variables. Off a terminal, those without a value are one error. */
export async function agentVariables(spec: AgentSpec, sources: VariableSources): Promise<Record<string, string>> {
  const { given, stored, env, ask } = sources;
  const known = { ...environmentOf(spec.name, env), ...stored, ...given };
  const unset = spec.variables.filter(({ name }) => !Object.hasOwn(known, name));
  const presets = unset.flatMap(({ name, default: preset }) => (preset === null ? [] : [[name, preset]]));
  const values: Record<string, string> = { ...(await sources.fill(Object.fromEntries(presets))), ...known };
  const missing = unset.filter((variable) => variable.default === null);
  const label = ({ name, description }: (typeof missing)[number]) =>
    description === '' ? name : `${name} (${description})`;
  if (missing.length > 0 && !ask) {
    const details = { missing: missing.map(({ name }) => name) };
    const message = `agent ${spec.name} needs ${missing.map(label).join(', ')}`;
    throw new ReefError('agent_variables_missing', message, { details });
  }
  for (const variable of missing) values[variable.name] = (await ask?.(label(variable))) ?? '';
  return Object.fromEntries(spec.variables.map(({ name }) => [name, values[name] ?? '']));
}

/** One object, or one of the two lists that Loki's pages describe. */
const variablesSchema = onFirstUse(() => {
  const values = z.record(z.string(), z.string());
  const pair = z
    .strictObject({ name: z.string(), value: z.string() })
    .transform(({ name, value }) => ({ [name]: value }));
  return z.union([values.transform((all) => [all]), z.array(z.union([pair, values]))]);
});

function environmentOf(agent: string, env: Variables): Record<string, string> {
  const name = `${envName(agent)}_VARIABLES`;
  const text = env[name];
  if (text === undefined || text === '') return {};
  try {
    return Object.assign({}, ...variablesSchema().parse(JSON.parse(text)));
  } catch (error) {
    const expected = 'a JSON object with strings as values, or a list of such objects or of {"name", "value"}';
    throw new ReefError('config_invalid', `${name} must be ${expected}`, { cause: error });
  }
}

/** The variables as an agent's tools see them. */
export function variableEnvironment(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [`LLM_AGENT_VAR_${envName(name)}`, value]),
  );
}

/** Fills each `{{name}}` once; the name of no variable stays as it is. */
export function fillVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{\s*([A-Za-z_][\w-]*)\s*\}\}/g, (whole, name: string) =>
    Object.hasOwn(variables, name) ? (variables[name] ?? '') : whole,
  );
}
