import type { EventOf } from '../../protocol/events.ts';

type ToolKind = EventOf<'tool_call'>['payload']['tool'];

const KINDS: ReadonlyMap<string, ToolKind> = new Map([
  ['Bash', 'shell'],
  ['PowerShell', 'shell'],
  ['Monitor', 'shell'],
  ['Read', 'read'],
  ['Write', 'edit'],
  ['Edit', 'edit'],
  ['MultiEdit', 'edit'],
  ['NotebookEdit', 'edit'],
  ['Grep', 'search'],
  ['Glob', 'search'],
  ['ToolSearch', 'search'],
  ['WebSearch', 'search'],
  ['WebFetch', 'fetch'],
  ['Task', 'agent'],
  ['Agent', 'agent'],
]);

/** What a tool is about, best first. */
const SUBJECTS = ['command', 'file_path', 'notebook_path', 'url', 'query', 'pattern', 'path', 'description'];
const TITLE_LENGTH = 200;

export function toolKind(name: string): ToolKind {
  return name.startsWith('mcp__') ? 'mcp' : (KINDS.get(name) ?? 'other');
}

export function fieldOf(input: unknown, name: string): string | undefined {
  if (typeof input !== 'object' || input === null || !Object.hasOwn(input, name)) return undefined;
  const value = (input as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

export function subjectOf(input: unknown): string | undefined {
  return SUBJECTS.map((name) => fieldOf(input, name)).find((value) => value !== undefined && value !== '');
}

/** The file an edit is about. */
export function editedPath(name: string, input: unknown): string | undefined {
  return toolKind(name) === 'edit' ? (fieldOf(input, 'file_path') ?? fieldOf(input, 'notebook_path')) : undefined;
}

/** One line for lists; the whole is in the input. */
export function titleOf(name: string, input: unknown): string {
  const subject = subjectOf(input);
  if (subject === undefined) return name;
  const [line = ''] = subject.split('\n', 1);
  const cut = line.length > TITLE_LENGTH || line.length < subject.length;
  return `${name}: ${line.slice(0, TITLE_LENGTH).toWellFormed()}${cut ? '…' : ''}`;
}
