import { capText } from '../base/cap.ts';
import { toReefError } from '../protocol/errors.ts';
import type { Deps } from './deps.ts';
import type { StoredWorktree } from './records.ts';

type Place = Pick<StoredWorktree, 'id' | 'path' | 'branch' | 'portBase'>;

const SETUP_MS = 300_000;
const TEARDOWN_MS = 60_000;
const SHOWN_BYTES = 4_096;

/** Runs the repository's set-up. If it fails, the worktree stays and the result says why. */
export async function runSetup(deps: Deps, row: Place, abort?: AbortSignal): Promise<StoredWorktree['setup']> {
  const began = deps.clock.monotonicMs();
  const failure = await runScript(deps, row, { which: 'setup', abort });
  if (failure === 'none') return { state: 'none' };
  const seconds = (deps.clock.monotonicMs() - began) / 1_000;
  return failure === undefined ? { state: 'done', seconds } : { state: 'failed', message: failure, seconds };
}

/** Never fatal: the worktree is about to go. */
export async function runTeardown(deps: Deps, row: Place): Promise<void> {
  const failure = await runScript(deps, row, { which: 'teardown' });
  if (failure !== undefined && failure !== 'none') {
    deps.log.warn('the teardown of a worktree failed', { worktree: row.id, message: failure });
  }
}

async function runScript(
  deps: Deps,
  row: Place,
  { which, abort }: { which: 'setup' | 'teardown'; abort?: AbortSignal | undefined },
): Promise<string | 'none' | undefined> {
  try {
    const [file, ...args] = (await deps.items.scripts?.())?.[which] ?? [];
    if (file === undefined || row.path === null) return 'none';
    const env = {
      REEF_WORKTREE: row.path,
      REEF_ROOT: deps.checkout.toplevel,
      REEF_BRANCH: row.branch,
      REEF_PORT_BASE: `${row.portBase}`,
    };
    const timeoutMs = which === 'setup' ? SETUP_MS : TEARDOWN_MS;
    const { code, signal, timedOut, stdout, stderr } = await deps.run({
      file,
      args,
      cwd: row.path,
      env,
      timeoutMs,
      abort,
    });
    if (code === 0 && !timedOut) return undefined;
    const ended = timedOut ? `took longer than ${timeoutMs / 1000} s` : `ended with ${code ?? signal}`;
    return `${file} ${ended}: ${capText(Buffer.concat([stderr, stdout]).toString('utf8').trim(), SHOWN_BYTES)}`;
  } catch (error) {
    const { code, message } = toReefError(error);
    return `${code}: ${message}`;
  }
}
