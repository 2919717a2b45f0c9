import { z } from 'zod';
import type { RewriteWatch } from '../../repostate/detect/rewrite-watch.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';
import type { Repeats } from './watched.ts';

const USUAL_S = 120;
const LONGEST_S = 600;

interface RunDeps
  extends Pick<CoderDeps, 'cwd' | 'dir' | 'runCommand' | 'tracker' | 'artifacts' | 'jobId' | 'checks' | 'guards'> {
  repeats: Repeats;
  rewrites: RewriteWatch;
}

export interface Ran {
  exit: number | null;
  output: string;
}

/** Runs a line in the shell of the worktree and records it in the state. Reef's own checks use it too. */
export async function runLine(
  deps: RunDeps,
  command: string,
  { timeoutS, signal }: { timeoutS: number; signal: AbortSignal },
): Promise<Ran> {
  const { cwd, runCommand, tracker, rewrites, checks } = deps;
  const spec = { file: '/bin/sh', args: ['-c', command], cwd, timeoutMs: timeoutS * 1_000, signal };
  const { code, stdout, stderr, timedOut } = await runCommand(spec);
  const output = `${stdout}${stderr}${timedOut ? `\nended after ${timeoutS} s` : ''}`;
  const exit = timedOut ? null : code;
  await tracker.updateFromToolResult('run_command', { command, exit, output });
  // A failing check is a reason to write again.
  if (exit !== 0 && Object.values(checks).includes(command.trim())) rewrites.checkFailed();
  return { exit, output };
}

export function commandTool(deps: RunDeps): Tool {
  return defineTool({
    name: 'run_command',
    description: 'Run a shell command in the worktree; everything it started ends with it.',
    effect: 'exec',
    arguments: z.strictObject({
      command: z.string().min(1).max(20_000),
      timeout_s: z.number().int().min(1).max(LONGEST_S).default(USUAL_S),
    }),
    claims: ({ command }) => ({ command }),
    run: async ({ command, timeout_s }, { signal }) => {
      const before = hashesOf(deps);
      const ran = await runLine(deps, command, { timeoutS: timeout_s, signal });
      const remarks = deps.guards === false ? [] : await remarksOn(deps, before);
      const { fingerprint } = deps.tracker.getSnapshot();
      const same = deps.repeats.afterCommand({ command, ...ran, fingerprint });
      if (same !== undefined) await deps.artifacts.put(ran.output, { jobId: deps.jobId });
      return same ?? [...remarks, `exit ${ran.exit ?? 'none'}`, ran.output].join('\n');
    },
  });
}

function hashesOf({ tracker }: Pick<RunDeps, 'tracker'>): Map<string, string> {
  return new Map(tracker.getSnapshot().files.map(({ path, hash }) => [path, hash]));
}

/** A larger file is generated. */
const LARGEST_FILE = 256 * 1024;

/** Files that the command wrote again almost unchanged: `cat > main.go <<EOF` is a rewrite like any other. */
async function remarksOn(deps: RunDeps, before: ReadonlyMap<string, string>): Promise<string[]> {
  const changed = [...hashesOf(deps)].filter(([path, hash]) => hash !== '' && hash !== (before.get(path) ?? ''));
  const remarks: string[] = [];
  for (const [path] of changed) {
    const content = await deps.dir.read(path, LARGEST_FILE).catch(() => undefined);
    const remark = content && deps.rewrites.judgeWritten(path, content.toString('utf8'));
    if (remark !== undefined) remarks.push(remark);
  }
  return remarks;
}
