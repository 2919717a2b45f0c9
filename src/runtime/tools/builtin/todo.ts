import { z } from 'zod';
import { ReefError } from '../../../protocol/errors.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { AgentTodos } from './agent-todos.ts';

/** For agents with `auto_continue`. They only touch the list, so no permission is asked. */
export function todoTools(list: AgentTodos): Tool[] {
  return [
    defineTool({
      name: 'todo__init',
      description: 'Begins a list of things to do towards a goal; an older list is dropped.',
      effect: 'read',
      arguments: z.object({ goal: z.string().min(1) }),
      async run({ goal }) {
        list.init(goal);
        return list.render();
      },
    }),
    defineTool({
      name: 'todo__add',
      description: 'Adds a thing to do.',
      effect: 'read',
      arguments: z.object({ task: z.string().min(1) }),
      run: async ({ task }) => ({ id: list.add(task) }),
    }),
    defineTool({
      name: 'todo__done',
      description: 'Marks a thing as done, by its id.',
      effect: 'read',
      arguments: z.object({ id: z.coerce.number().int().min(1) }),
      async run({ id }) {
        if (!list.done(id)) throw new ReefError('bad_request', `There is no todo ${id}. The list:\n${list.render()}`);
        return list.render();
      },
    }),
    defineTool({
      name: 'todo__list',
      description: 'Shows the list of things to do.',
      effect: 'read',
      arguments: z.object({}),
      run: async () => list.render(),
    }),
    defineTool({
      name: 'todo__clear',
      description: 'Drops the list of things to do.',
      effect: 'read',
      arguments: z.object({}),
      async run() {
        list.clear();
        return null;
      },
    }),
  ];
}
