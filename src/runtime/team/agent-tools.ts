import { z } from 'zod';
import { defineTool } from '../tools/define-tool.ts';
import type { Tool } from '../tools/tool.ts';
import { renderMessages, type TeamInbox } from './inbox.ts';
import type { TeamSupervisor } from './supervisor.ts';

/** Models write numbers where ids are digits. */
const taskId = z.union([z.string(), z.number()]).transform(String);
const id = z.string().min(1).max(64).describe('Id of the agent, or its name if you started only one of that name');
const text = z.string().min(1);

const REPLY_HINT =
  'Answer with agent__reply_escalation if you can; a person may answer as well. Then call agent__collect again.';

function messageTools(supervisor: TeamSupervisor, inbox: TeamInbox): Tool[] {
  return [
    defineTool({
      name: 'agent__send_message',
      description:
        'Writes to an agent you started, to "parent", or to one your parent started. It reads the message at its next step.',
      effect: 'read',
      arguments: z.object({ id, message: text }),
      async run(args) {
        await supervisor.send(args.id, { kind: 'text', from: supervisor.agentId, text: args.message });
        return { status: 'sent', id: args.id };
      },
    }),
    defineTool({
      name: 'agent__check_inbox',
      description: 'Reads the messages of other agents.',
      effect: 'read',
      arguments: z.object({}),
      run: async () => renderMessages(inbox.drain()) || 'No messages.',
    }),
    defineTool({
      name: 'agent__list',
      description: 'Lists the agents you started, your parent, and the other agents it started.',
      effect: 'read',
      arguments: z.object({}),
      async run() {
        const { parent, agentId } = supervisor;
        const beside = parent?.list().filter((other) => other.id !== agentId);
        return {
          id: agentId,
          agents: supervisor.list(),
          ...(parent && {
            parent: parent.agentId,
            beside: beside?.map(({ id, agent, status }) => ({ id, agent, status })),
          }),
        };
      },
    }),
  ];
}

/** These tools only touch the team, so no permission is asked. The agent's own file says whom it may start. */
function childTools(supervisor: TeamSupervisor): Tool[] {
  return [
    defineTool({
      name: 'agent__spawn',
      description: 'Starts another agent on a task; it works while you go on. It knows nothing but the prompt.',
      effect: 'read',
      arguments: z.object({
        agent: text.describe('Its name, or workflow:NAME for a run of a workflow'),
        prompt: text,
        task_id: taskId.optional(),
        plan: z.array(text).optional().describe('For a run: files it means to change; a clash makes it wait'),
      }),
      run: async (args) => ({ status: 'spawned', agent: args.agent, ...(await supervisor.spawn(args)) }),
    }),
    defineTool({
      name: 'agent__check',
      description: 'Shows an agent you started, without waiting; collects its result if it is done.',
      effect: 'read',
      arguments: z.object({ id }),
      run: (args, { signal }) => supervisor.check(args.id, signal),
    }),
    defineTool({
      name: 'agent__collect',
      description:
        'Waits for an agent you started and collects its result. Returns early if it, or an agent below it, asks something.',
      effect: 'read',
      arguments: z.object({ id }),
      async run(args, { signal }) {
        const result = await supervisor.collect(args.id, signal);
        return result.status === 'pending_escalations' ? { ...result, hint: REPLY_HINT } : result;
      },
    }),
    defineTool({
      name: 'agent__cancel',
      description: 'Ends an agent you started and all agents below it.',
      effect: 'read',
      arguments: z.object({ id }),
      run: (args) => supervisor.cancel(args.id),
    }),
    defineTool({
      name: 'agent__reply_escalation',
      description: 'Answers a question of an agent below you. The first answer counts; permissions are for the person.',
      effect: 'read',
      arguments: z.object({
        escalation_id: text.describe('Id of the question, or of the agent that asks it'),
        reply: text,
      }),
      async run(args) {
        await supervisor.reply(args.escalation_id, args.reply);
        return { status: 'answered', escalation_id: args.escalation_id };
      },
    }),
  ];
}

function taskTools(supervisor: TeamSupervisor): Tool[] {
  return [
    defineTool({
      name: 'agent__task_create',
      description: 'Adds a task. With an agent it starts as soon as the tasks in blocked_by are completed.',
      effect: 'read',
      arguments: z.object({
        subject: text,
        description: z.string().optional(),
        blocked_by: z.array(taskId).optional(),
        agent: text.optional(),
        prompt: text.optional(),
      }),
      run: (args) => supervisor.createTask(args),
    }),
    defineTool({
      name: 'agent__task_list',
      description: 'Lists the tasks, with the reason for those that are blocked.',
      effect: 'read',
      arguments: z.object({}),
      run: async () => ({ tasks: supervisor.listTasks() }),
    }),
    defineTool({
      name: 'agent__task_complete',
      description: 'Marks a task as completed; tasks that waited for it may start.',
      effect: 'read',
      arguments: z.object({ task_id: taskId }),
      run: (args) => supervisor.completeTask(args.task_id),
    }),
    defineTool({
      name: 'agent__task_fail',
      description: 'Marks a task as failed; tasks that wait for it stay blocked.',
      effect: 'read',
      arguments: z.object({ task_id: taskId, reason: z.string().optional() }),
      run: async (args) => supervisor.failTask(args.task_id, args.reason ?? 'given up'),
    }),
  ];
}

/** The `agent__*` tools of one agent: children and tasks if it may spawn, messages if it has anybody to write to. */
export function agentTools(supervisor: TeamSupervisor, inbox: TeamInbox, canSpawn: boolean): Tool[] {
  return [
    ...(canSpawn ? [...childTools(supervisor), ...taskTools(supervisor)] : []),
    ...(canSpawn || supervisor.parent ? messageTools(supervisor, inbox) : []),
  ];
}
