import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';
import { type CommandLine, scripts } from '../completions/scripts.ts';

/** The tree of commands comes from the parser itself, so the script cannot lag behind it. */
export function completions(tree: CommandLine): Command<object> {
  return async (cli, [shell = '']) => {
    const script = Object.hasOwn(scripts, shell) ? scripts[shell as keyof typeof scripts] : undefined;
    if (!script) throw new ReefError('bad_request', `shell: "${shell}" is none of ${Object.keys(scripts).join(', ')}`);
    cli.print({ shell, script: script(tree) }, () => script(tree).trimEnd());
    return 0;
  };
}
