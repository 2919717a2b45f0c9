import { randomUUID } from 'node:crypto';
import type { Action, Json, Question } from './script.ts';
import type { OfferedTool, ToolCall } from './wire.ts';

/** The caller offers no tool for an action of the script. */
export class NoSuchTool extends Error {
  override name = 'NoSuchTool';
}

/** A tool that can do the action; the first that is offered does it. Order: Claude Code, Codex, gemini, opencode. */
type Candidate = [tool: string, input: Json | string];
type Kind<K extends string> = Extract<Action, Record<K, unknown>>;

const patch = (body: string) => `*** Begin Patch\n${body}*** End Patch\n`;

function patchLines(text: string, sign: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.map((line) => `${sign}${line}\n`).join('');
}

function writes({ write, content }: Kind<'write'>, path: string): Candidate[] {
  return [
    ['Write', { file_path: path, content }],
    ['apply_patch', patch(`*** Add File: ${write}\n${patchLines(content, '+')}`)],
    ['write_file', { file_path: path, content }],
    ['write', { filePath: path, content }],
  ];
}

function edits(action: Kind<'edit'>, path: string): Candidate[] {
  const change = { file_path: path, old_string: action.old, new_string: action.new };
  const hunk = `@@\n${patchLines(action.old, '-')}${patchLines(action.new, '+')}`;
  return [
    ['Edit', change],
    ['apply_patch', patch(`*** Update File: ${action.edit}\n${hunk}`)],
    ['replace', { ...change, instruction: 'Change the text' }],
    ['edit', { filePath: path, oldString: action.old, newString: action.new }],
  ];
}

function reads(path: string): Candidate[] {
  return [
    ['Read', { file_path: path }],
    ['exec_command', { cmd: `cat '${path}'` }],
    ['read_file', { file_path: path }],
    ['read', { filePath: path }],
  ];
}

function shells({ shell, escalate }: Kind<'shell'>): Candidate[] {
  const escalation = { sandbox_permissions: 'require_escalated', justification: escalate };
  const command = { command: shell, description: 'Run command' };
  return [
    ['Bash', command],
    ['exec_command', { cmd: shell, ...(escalate === undefined ? {} : escalation) }],
    ['run_shell_command', command],
    ['bash', command],
  ];
}

function asks(asked: Question[]): Candidate[] {
  const plain = asked.map(({ question, header, options }) => ({
    question,
    header: header ?? 'Question',
    options: options.map((label) => ({ label, description: `Choose ${label}` })),
  }));
  return [
    ['AskUserQuestion', { questions: plain.map((one, n) => ({ ...one, multiSelect: asked[n]?.multi ?? false })) }],
    ['request_user_input', { questions: plain.map((one, n) => ({ id: `q${n + 1}`, ...one })) }],
  ];
}

/** `mcp__reef__spawn` of Claude Code and Codex is `mcp_reef_spawn` to gemini and `reef_spawn` to opencode. */
function named({ tool, input }: Kind<'tool'>): Candidate[] {
  const [, server, name] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  const names = server === undefined ? [tool] : [tool, `mcp_${server}_${name}`, `${server}_${name}`];
  return names.map((each) => [each, input]);
}

/** Some tools want absolute paths; a patch wants them relative. */
function candidates(action: Action, absolute: (path: string) => string): Candidate[] {
  if ('write' in action) return writes(action, absolute(action.write));
  if ('edit' in action) return edits(action, absolute(action.edit));
  if ('read' in action) return reads(absolute(action.read));
  if ('shell' in action) return shells(action);
  if ('ask' in action) return asks(action.ask);
  if ('plan' in action) return [['ExitPlanMode', { plan: action.plan }]];
  return named(action);
}

function resolve(tools: OfferedTool[], name: string): OfferedTool | undefined {
  for (const tool of tools) {
    const prefix = tool.namespace === undefined ? '' : `${tool.namespace}__`;
    if (name === prefix + tool.name) return tool;
    if (tool.name === '*' && name.startsWith(prefix)) return { ...tool, name: name.slice(prefix.length) };
  }
  return undefined;
}

export function toToolCall(action: Action, offer: { tools: OfferedTool[]; cwd?: string | undefined }): ToolCall {
  const { tools, cwd } = offer;
  const absolute = (path: string) => (path.startsWith('/') || cwd === undefined ? path : `${cwd}/${path}`);
  for (const [name, input] of candidates(action, absolute)) {
    const tool = resolve(tools, name);
    if (!tool) continue;
    return {
      id: `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
      name: tool.name,
      ...(tool.namespace === undefined ? {} : { namespace: tool.namespace }),
      input: typeof input === 'string' && tool.kind === 'function' ? { input } : input,
    };
  }
  const known = tools
    .map(({ name, namespace }) => (namespace === undefined ? name : `${namespace}__${name}`))
    .join(', ');
  throw new NoSuchTool(`no such tool for ${JSON.stringify(action)}; the request offers: ${known}`);
}
