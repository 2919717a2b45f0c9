import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { parseBy, readIfThere } from '../config/settings-file.ts';
import { namesIn, type Paths } from '../paths.ts';

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
  .refine(({ variables }) => variables.slice(0, -1).every(({ rest }) => !rest), 'rest for the last variable alone');

export type Macro = z.output<typeof macroSchema> & { name: string };

export function loadMacro(paths: Paths, name: string): Macro {
  const file = paths.macroFile(name);
  const text = readIfThere(file);
  if (text === undefined) throw new ReefError('macro_not_found', `there is no macro ${name}`);
  return parseMacro(name, { file, text });
}

export function parseMacro(name: string, source: { file: string; text: string }): Macro {
  return { ...parseBy(source, macroSchema), name };
}

export const listMacros = (paths: Paths) => namesIn(paths.macrosDir(), '.yaml');

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
