import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { Tool } from '../tool.ts';
import type { CustomTool } from './custom-tool.ts';

/**
 * A script that takes the place of a built-in tool is asked about as that one: a Loki user's `fs_cat.sh` reads without a
 * question, but nothing outside the working directory. One with other arguments is a program like any other.
 */
export function asBuiltin(script: CustomTool, builtin: Tool): Tool {
  const texts = textsOf(builtin);
  const takes = Object.keys((script.parameters.properties as object | undefined) ?? {});
  const required = (builtin.parameters.required as string[] | undefined) ?? [];
  if (!required.every((name) => takes.includes(name))) return script;
  return {
    ...script,
    effect: builtin.effect,
    claims(args, cwd) {
      const given = Object.fromEntries(Object.entries(args as object).filter(([name]) => texts.includes(name)));
      const claims = builtin.claims?.(given, cwd) ?? {};
      const behindLink = typeof given.path === 'string' ? realOutside(given.path, cwd) : undefined;
      return behindLink === undefined ? claims : { ...claims, subject: behindLink, outside: [behindLink] };
    },
  };
}

/** Scripts declare numbers as they like; only the text says what a call touches. */
function textsOf({ parameters }: Tool): string[] {
  const properties = Object.entries((parameters.properties ?? {}) as Record<string, { type?: unknown }>);
  return properties.flatMap(([name, { type }]) => (type === 'string' ? [name] : []));
}

/** Our own tools follow no link; a script does. */
function realOutside(path: string, cwd: string): string | undefined {
  try {
    const real = realpathSync(resolve(cwd, path));
    const inside = relative(realpathSync(cwd), real);
    return inside === '..' || inside.startsWith('../') || isAbsolute(inside) ? real : undefined;
  } catch {
    return undefined;
  }
}
