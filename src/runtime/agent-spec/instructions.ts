import type { ToolDeclaration } from '../models/client.ts';
import { type AgentSpec, isWorkflow } from './spec.ts';

const TODO = `## Your list of things to do
For anything of more than two steps begin with todo__init and its goal, then todo__add each step. Call todo__done as soon as
one is finished. While steps are open you are asked to go on; clear the list with todo__clear when the goal no longer holds.`;

const SPAWN = `## Agents you can start
agent__spawn starts another agent with a task of its own; it begins with nothing but the prompt you give it, so say
everything it has to know. It runs beside you: start several before you wait for one. agent__check looks, agent__collect
waits for the result, agent__cancel ends it. Collect or cancel every agent you started before you finish.
For work that depends on other work use agent__task_create with blocked_by, for example
agent__task_create {"subject": "write the tests", "blocked_by": ["1"], "agent": "coder", "prompt": "Write tests for src/a.ts"}.
If agent__collect returns pending_escalations, answer them with agent__reply_escalation if you can; else leave them to the person.`;

const WORKFLOWS = `agent__spawn also runs a workflow, as the agent workflow:NAME: it works in a worktree of its own, passes the project's gates,
and is collected or cancelled like an agent. What it made is merged by a person.`;

const TEAMMATE = `## The agents beside you
You were started by another agent. Your last message is your result: make it complete, for nothing else of you is read.
agent__send_message writes to another agent by its id; agent__check_inbox reads what was written to you.`;

const PERSON = `## Asking the person
When you cannot go on without a decision that is not yours to take, ask with user__ask, user__confirm, user__checkbox or
user__input. Ask once, with all that is needed to answer. If nobody answers, decide yourself and say so.`;

interface Occasion {
  /** For `{{__tools__}}`. */
  tools: readonly ToolDeclaration[];
  /** Another agent started it. */
  isChild: boolean;
  /** It has the tools that ask a person. */
  canAsk: boolean;
}

/** The system prompt of an agent: its instructions, and ours about what its flags give it. */
export function agentPrompt(spec: AgentSpec, instructions: string, { tools, isChild, canAsk }: Occasion): string {
  const list = tools.map(({ name, description }) => `- ${name}: ${description.split('\n')[0]}`).join('\n');
  const spawning = spec.spawnable_agents?.some(isWorkflow) ? `${SPAWN}\n${WORKFLOWS}` : SPAWN;
  const parts = [
    instructions.replaceAll('{{__tools__}}', () => list),
    spec.auto_continue && spec.inject_todo_instructions ? TODO : '',
    spec.can_spawn_agents && spec.inject_spawn_instructions ? spawning : '',
    isChild ? TEAMMATE : '',
    canAsk ? PERSON : '',
  ];
  return parts.filter((part) => part.trim() !== '').join('\n\n');
}
