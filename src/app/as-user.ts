import type { Environment } from '../base/env.ts';
import { findOnPath } from '../base/programs.ts';
import { run } from '../process/run.ts';
import type { AsUser } from '../worktrees/deps.ts';

/** Which repository git works on is said by the folder, whatever the daemon was started from. */
const OF_ANOTHER_GIT =
  /^(GIT_(DIR|WORK_TREE|INDEX_FILE|PREFIX|COMMON_DIR|OBJECT_DIRECTORY|NAMESPACE|CONFIG_(COUNT|KEY_.*|VALUE_.*|PARAMETERS))|REEF_.*)$/;

/** Nobody sits at this terminal: whoever would ask fails instead, and says what it wanted. */
const ASKS_NOBODY = {
  GIT_TERMINAL_PROMPT: '0',
  GH_PROMPT_DISABLED: '1',
  GH_NO_UPDATE_NOTIFIER: '1',
  NO_COLOR: '1',
  NO_PROMPT: '1',
  LC_ALL: 'C',
};

const MOST_BYTES = 4 * 1024 * 1024;

/** The user's own programs, for what only their credentials may do. */
export function asUserIn(cwd: string, env: Environment): AsUser {
  const own = Object.entries(env.all).filter(([name, value]) => value !== undefined && !OF_ANOTHER_GIT.test(name));
  const given = { ...(Object.fromEntries(own) as Record<string, string>), ...ASKS_NOBODY };
  return async (program, args, { timeoutMs, input }) => {
    const file = findOnPath(program, env.path);
    if (file === undefined) return undefined;
    const spec = { file, args, cwd, env: given, timeoutMs, maxBytes: MOST_BYTES };
    const { code, timedOut, stdout, stderr } = await run({ ...spec, ...(input !== undefined && { input }) });
    return { code, timedOut, stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') };
  };
}
