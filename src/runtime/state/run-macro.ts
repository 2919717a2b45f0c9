import { ReefError } from '../../protocol/errors.ts';
import { loadMacro, macroSteps } from '../macros/macro.ts';
import { hasRole } from '../roles/role-folder.ts';
import type { RequestContext } from './request-context.ts';

const DEEPEST = 8;

interface MacroRun {
  name: string;
  args: string;
  /** Runs one line as the REPL would, in the context given. */
  runLine(ctx: RequestContext, line: string): Promise<void>;
  print(line: string): void;
}

/**
 * Runs in a context of its own without role, session, RAG or agent, over the same model and tools: a macro gives the
 * same wherever it is called.
 */
export async function runMacro(ctx: RequestContext, { name, args, runLine, print }: MacroRun): Promise<void> {
  const steps = macroSteps(loadMacro(ctx.app.paths, name), args);
  if (ctx.macroDepth >= DEEPEST) throw new ReefError('macro_depth', `macro ${name} would be ${DEEPEST + 1} deep`);
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

/** What needs a person at an editor is not for a macro. */
function refuse(ctx: RequestContext, step: string): void {
  const [command, argument] = step.trim().split(/\s+/);
  if (command === '.edit') throw new ReefError('macro_refused', `a macro cannot edit: ${step}`);
  if (command === '.role' && argument !== undefined && !hasRole(ctx.app.paths, argument)) {
    throw new ReefError('macro_refused', `a macro cannot make the role ${argument}`);
  }
}
