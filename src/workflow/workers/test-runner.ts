import type { SafeDir } from '../../base/safe-dir.ts';
import { countTests } from './count-tests.ts';
import { type GateParts, judge } from './run-gate.ts';
import type { GateSettings, Worker } from './worker.ts';

/** `Internal:TestRunner`: the project's own tests, in the worktree; their exit code is the verdict. */
export function testRunner(parts: GateParts & { openDir(root: string): SafeDir }): Worker {
  return async (input, context) => {
    const dir = parts.openDir(input.system_metadata.worktree_path);
    const { report } = context.gate;
    // One left by an earlier run, or made up, must not speak for this one.
    if (report !== undefined) await dir.remove(report).catch(() => undefined);
    return judge(
      { input, context, parts },
      {
        output: 'together',
        type: 'TEST_RESULT',
        tellsSuccess: true,
        content: ({ log }) => log,
        objection: () => tooFew(dir, context.gate),
      },
    );
  };
}

/** Deleting tests does not pass. */
async function tooFew(dir: SafeDir, { report, minTests }: GateSettings): Promise<string | undefined> {
  if (report === undefined || minTests === undefined) return undefined;
  const text = await dir.read(report).then(
    (bytes) => bytes.toString('utf8'),
    () => undefined,
  );
  if (text === undefined) return `the report ${report} was not written, so no test is proved to have run`;
  const count = countTests(text);
  if (count === undefined) return `the report ${report} is neither JUnit nor JSON of a known kind`;
  return count < minTests ? `${count} tests ran, at least ${minTests} must` : undefined;
}
