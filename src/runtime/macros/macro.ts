import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { isProblem, parseYaml } from '../config/yaml-file.ts';
import { namesIn } from '../folder-names.ts';
import type { Paths } from '../paths.ts';

const macroSchema = z
  .strictObject({
    variables: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[A-Za-z_][\w-]*$/),
          default: z.string().nullable().default(null),
          /** Takes all that is left, blanks included. */
          rest: z.boolean().default(false),
        }),
      )
      .default([]),
    steps: z.array(z.string()).min(1),
  })
  .refine(
    ({ variables }) => variables.slice(0, -1).every(({ rest }) => !rest),
    'only the last variable takes the rest',
  );

export type Macro = z.output<typeof macroSchema> & { name: string };

export function loadMacro(paths: Paths, name: string): Macro {
  const file = paths.macroFile(name);
  if (!existsSync(file)) throw new ReefError('macro_not_found', `there is no macro ${name}`);
  return parseMacro(name, { file, text: readFileSync(file, 'utf8') });
}

export function parseMacro(name: string, { file, text }: { file: string; text: string }): Macro {
  const yaml = parseYaml(file, text);
  if (isProblem(yaml)) throw new ReefError('config_invalid', `${file}:${yaml.line ?? '?'}: ${yaml.found}`);
  const parsed = macroSchema.safeParse(yaml.value);
  if (parsed.success) return { ...parsed.data, name };
  const problems = parsed.error.issues.map((issue) => {
    const line = yaml.lineOf(issue.path);
    return `${file}${line === undefined ? '' : `:${line}`}: ${issue.path.join('.')}: ${issue.message}`;
  });
  throw new ReefError('config_invalid', problems.join('\n'));
}

export const listMacros = (paths: Paths) => namesIn(paths.macrosDir(), '.yaml');
export const hasMacro = (paths: Paths, name: string) => existsSync(paths.macroFile(name));

/** `NAME <a> [b] <rest>...` */
export function usageOf({ name, variables }: Macro): string {
  const words = variables.map((variable) => {
    const word = variable.default === null ? `<${variable.name}>` : `[${variable.name}]`;
    return variable.rest ? `${word}...` : word;
  });
  return [name, ...words].join(' ');
}

/** The lines to run, with the values of `args` in their places, by position. */
export function macroSteps(macro: Macro, args: string): string[] {
  const values = new Map<string, string>();
  let left = args.trim();
  for (const { name, default: preset, rest } of macro.variables) {
    const word = rest ? left : (/^\S*/.exec(left)?.[0] ?? '');
    left = left.slice(word.length).trimStart();
    const value = word === '' ? preset : word;
    if (value === null) {
      throw new ReefError('macro_missing_value', `${name} has no value; usage: ${usageOf(macro)}`);
    }
    values.set(name, value);
  }
  return macro.steps.map((step) =>
    step.replace(/\{\{\s*([\w-]+)\s*\}\}/g, (whole, name: string) => values.get(name) ?? whole),
  );
}
