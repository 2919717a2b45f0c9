const MOST_LINES = 6;
const BLOCK_PROMPT = /^## Task\n+([\s\S]*?)(?=\n+## |$)/;

/** What was asked for. The prompt of a workflow block begins with it; the rest of that is for the agent. */
export function taskOf(task: string): string {
  return BLOCK_PROMPT.exec(task)?.[1] ?? task;
}

/** The same, bounded: enough to know which task it is. */
export function taskBeginning(task: string): string {
  const lines = taskOf(task).trimEnd().split('\n');
  return lines.length <= MOST_LINES ? lines.join('\n') : [...lines.slice(0, MOST_LINES), '…'].join('\n');
}
