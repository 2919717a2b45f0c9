import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { readBy } from '../config/settings-file.ts';
import type { Paths } from '../paths.ts';
import { hasRole } from '../roles/role-folder.ts';
import type { RequestContext } from '../state/request-context.ts';

const DEEPEST = 8;

const macroSchema = z
  .strictObject({
    variables: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[A-Za-z_][\w-]*$/),
          default: z.string().nullable().default(null),
          /** Takes the rest of the line. */
          rest: z.boolean().default(false),
        }),
      )
      .default([]),
    steps: z.array(z.string()).min(1),
  })
  .refine(({ variables }) => variables.slice(0, -1).every(({ rest }) => !rest), 'rest for the last variable alone');

export type Macro = z.output<typeof macroSchema> & { name: string };

export function loadMacro(paths: Paths, name: string): Macro {
  const macro = readBy(paths.macroFile(name), macroSchema);
  if (!macro) throw new ReefError('macro_not_found', `there is no macro ${name}`);
  return { ...macro, name };
}

/** `NAME <a> [b] <rest>...` */
export function usageOf({ name, variables }: Macro): string {
  const words = variables.map((variable) => {
    const word = variable.default === null ? `<${variable.name}>` : `[${variable.name}]`;
    return variable.rest ? `${word}...` : word;
  });
  return [name, ...words].join(' ');
}

/** The lines to run. The words of `args` become the variables' values, by position. */
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

interface MacroRun {
  name: string;
  args: string;
  /** Runs one line as the chat does, in the given context. */
  runLine(ctx: RequestContext, line: string): Promise<void>;
  print(line: string): void;
}

/** Runs in a context with the same model and tools but no role, session, RAG or agent: a macro gives the same everywhere. */
export async function runMacro(ctx: RequestContext, { name, args, runLine, print }: MacroRun): Promise<void> {
  const steps = macroSteps(loadMacro(ctx.app.paths, name), args);
  if (ctx.macroDepth >= DEEPEST)
    throw new ReefError('macro_depth', `macros may call each other ${DEEPEST} deep: ${name} is one too many`);
  const inner = await ctx.forMacro();
  try {
    for (const step of steps) {
      print(`>> ${step}`);
      refuse(inner, step);
      await runLine(inner, step);
    }
  } finally {
    await inner.close();
  }
}

/** A macro cannot open an editor. */
function refuse(ctx: RequestContext, step: string): void {
  const [command, argument] = step.trim().split(/\s+/);
  if (command === '.edit') throw new ReefError('macro_refused', `a macro cannot edit: ${step}`);
  if (command === '.role' && argument !== undefined && !hasRole(ctx.app.paths, argument)) {
    throw new ReefError('macro_refused', `a macro cannot create the role ${argument}`);
  }
}
