const LONGEST = 200;

/** What a task is called in lists and in the name of its branch: its first line. */
export function titleOf(task: string): string {
  return (task.split('\n', 1)[0] ?? task).slice(0, LONGEST);
}
