import { firstLine, plain } from '../format.ts';
import { worktrees } from '../store/home.ts';

/** A worktree by its name; one that is named as its task is not named again. */
export function worktreeName(id: string, task: string): string | undefined {
  const title = worktrees.value.find((each) => each.id === id)?.title;
  return title === undefined || firstLine(title) === firstLine(task) ? undefined : plain(firstLine(title));
}

export function WorktreeLink({ id, task }: { id: string; task: string }) {
  return (
    <a class="worktree" href={`/worktrees/${id}`} title={id}>
      {worktreeName(id, task) ?? 'its worktree'}
    </a>
  );
}
