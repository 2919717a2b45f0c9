import { z } from 'zod';
import type { OperationRequest } from '../../protocol/operations.ts';
import type { Task } from '../../protocol/repostate.ts';
import { checked, type TaskList } from '../../repostate/state/task-list.ts';
import type { Tracker } from '../../repostate/state/tracker.ts';
import { defineTool } from '../../runtime/tools/define-tool.ts';
import type { Answer, Tool } from '../../runtime/tools/tool.ts';
import type { CoderDeps } from '../coder-deps.ts';

export function askTool({ tracker }: Pick<CoderDeps, 'tracker'>): Tool {
  return defineTool({
    name: 'ask_user',
    description: 'Ask the person a question and wait for the answer.',
    effect: 'ask',
    arguments: z.strictObject({
      question: z.string().min(1).max(4_000),
      options: z.array(z.string().min(1).max(200)).min(2).max(10).optional(),
    }),
    run: async ({ question, options }, { ask, signal }) => {
      const asked = options ? ({ kind: 'choice', question, options } as const) : ({ kind: 'input', question } as const);
      const answer = answerText(await ask(asked, signal));
      await tracker.updateFromToolResult('ask_user', { question, answer });
      return answer;
    },
  });
}

export function answerText(answer: Answer): string {
  switch (answer.kind) {
    case 'choice':
      return answer.choice;
    case 'input':
      return answer.text;
    case 'timeout':
      return 'Nobody answered: decide for yourself, and say in the summary what you decided.';
    default:
      return 'Nobody is there to ask: decide for yourself, and say in the summary what you decided.';
  }
}

/** One list per job. Every prompt shows it, and the state of the worktree keeps it. */
export function todoTool(todos: TaskList, { tracker }: Pick<CoderDeps, 'tracker'>): Tool {
  return defineTool({
    name: 'todo',
    description: 'The plan. set: items; add, note: text; start, complete: id; drop: id and reason; list.',
    effect: 'read',
    arguments: z.strictObject({
      op: z.enum(['list', 'set', 'add', 'start', 'complete', 'drop', 'note']),
      items: z.array(z.string()).max(10).optional(),
      text: z.string().optional(),
      id: z.string().optional(),
      reason: z.string().optional(),
    }),
    run: async (request) => {
      changePlan(todos, tracker, request);
      return todos.list().map(taskLine).join('\n') || '(nothing planned)';
    },
  });
}

export function taskLine({ id, status, description }: Task): string {
  return `${id} [${status}] ${description}`;
}

/** Carries out one call of `todo`, of the coder or of any other agent. */
export function changePlan(todos: TaskList, tracker: Tracker, request: OperationRequest<'todo'>): void {
  const { op, items = [], text = '', id = '', reason = '' } = request;
  if (op === 'note') tracker.note(checked(text));
  else if (op === 'set') todos.set(items);
  else if (op === 'add') todos.add(text);
  else if (op === 'start') todos.start(id);
  else if (op === 'complete') todos.complete(id);
  else if (op === 'drop') todos.drop(id, reason);
  tracker.setTasks(todos.list());
}
