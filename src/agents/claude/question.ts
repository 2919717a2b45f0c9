import { capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import type { AskedQuestion, Json } from '../adapter.ts';
import { isOwnTool } from './mcp-hints.ts';
import { questionsInput, type ToolRequest } from './schema.ts';
import { editedPath, fieldOf, proposedDiff, subjectOf, toolKind } from './tools.ts';

export const ASK_TOOL = 'AskUserQuestion';
export const PLAN_TOOL = 'ExitPlanMode';
const PLAN_CAP = 16 * 1024;

interface Known {
  /** What the tool call said: not every request repeats it. */
  plan?: string | undefined;
  /** The tool changes nothing, by a server that a person chose. */
  reads?: boolean | undefined;
}

export function questionsOf(request: ToolRequest, { plan, reads }: Known): AskedQuestion[] {
  if (request.tool_name === PLAN_TOOL) return [planQuestion(request, plan)];
  const asked = request.tool_name === ASK_TOOL ? questionsInput.safeParse(request.input) : undefined;
  return asked?.success ? asked.data.questions.map(choiceQuestion) : [permissionQuestion(request, reads)];
}

function choiceQuestion(asked: ReturnType<typeof questionsInput.parse>['questions'][number]): AskedQuestion {
  return {
    kind: 'choice',
    question: asked.question,
    choices: asked.options.map(({ label, description }) => ({ id: label, label, ...defined({ description }) })),
    multi: asked.multiSelect === true,
    freeText: true,
    ...defined({ header: asked.header }),
    tool: ASK_TOOL,
  };
}

function planQuestion(request: ToolRequest, toldBefore: string | undefined): AskedQuestion {
  const plan = fieldOf(request.input, 'plan') ?? toldBefore;
  return {
    kind: 'permission',
    question: 'Claude has a plan and wants to start with it.',
    tool: PLAN_TOOL,
    input: request.input as Json,
    ...(plan === undefined ? {} : { diff: capText(plan, PLAN_CAP) }),
  };
}

function permissionQuestion(request: ToolRequest, reads: boolean | undefined): AskedQuestion {
  const { tool_name: tool, input, decision_reason: reason } = request;
  const who = request.agent_id === undefined ? 'Claude' : 'A sub-agent of Claude';
  const diff = toolKind(tool) === 'edit' ? proposedDiff(input) : undefined;
  return {
    kind: 'permission',
    question: `${who} wants to ${wish(tool, input)}${reason === undefined ? '' : `\nReason: ${reason}`}`,
    tool,
    input: input as Json,
    ...defined({ diff }),
    ...(isOwnTool(tool) && { isOwnTool: true }),
    ...(reads && { onlyReads: true }),
    ...defined({ wants: wantsOf(tool, request.input) }),
  };
}

/** A description and a time limit do not change what a command does. */
function wantsOf(tool: string, input: ToolRequest['input']): AskedQuestion['wants'] {
  const path = editedPath(tool, input);
  if (path !== undefined) return { edits: [path] };
  if (tool.startsWith('mcp__')) return { mcpTool: tool };
  const { description: _, timeout: _timeout, ...command } = input;
  return toolKind(tool) === 'shell' ? { command: { tool, ...command } as Json } : undefined;
}

/** Shown whole, however long: nobody can allow what is not shown. */
function wish(tool: string, input: unknown): string {
  const subject = subjectOf(input);
  if (subject === undefined) return `use the tool ${tool}`;
  switch (toolKind(tool)) {
    case 'shell':
      return `run a command: ${subject}`;
    case 'read':
      return `read ${subject}`;
    case 'edit':
      return `${tool === 'Write' ? 'write' : 'change'} the file ${subject}`;
    case 'search':
      return `search for ${subject}`;
    case 'fetch':
      return `fetch ${subject}`;
    case 'agent':
      return `start a sub-agent: ${subject}`;
    default:
      return `use the tool ${tool}`;
  }
}
