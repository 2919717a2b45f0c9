import { capText } from '../../base/cap.ts';
import { ReefError } from '../../protocol/errors.ts';

const SHOWN = 20_000;

/** What an agent is told about a conflict that was marked in its files. */
export function resolveThem(target: string, files: readonly string[]): string {
  return [
    `The branch ${target} has moved and was brought into this worktree. It conflicts with your work in: ${files.join(', ')}.`,
    'Files that both sides changed hold the usual marks (<<<<<<<, =======, >>>>>>>); where one side deleted a file or it is binary, there are none.',
    `Resolve every one of them so that both intents hold: yours, and that of ${target} (\`git log -p HEAD^2\` shows it). Leave no mark. Do not undo the merge.`,
  ].join('\n');
}

/** What an agent is told when gates fail at the merge; undefined if it cannot do anything about the refusal. */
export function mendThem(error: unknown, target: string): string | undefined {
  if (!(error instanceof ReefError) || error.code !== 'gates_failed') return undefined;
  const logs = Object.entries(error.details ?? {}).filter(([name]) => name !== 'tree');
  const said = logs.map(([gate, log]) => `${gate} says:\n${capText(String(log), SHOWN)}`);
  return [
    `Your work passed on its own, and fails together with ${target}, which was brought into this worktree. Find the cause and mend it.`,
    ...said,
  ].join('\n\n');
}
