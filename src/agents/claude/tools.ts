import type { z } from 'zod';
import { capText } from '../../base/cap.ts';
import type { EventOf } from '../../protocol/events.ts';
import { formatHunks, unifiedDiff } from '../unified-diff.ts';
import type { fileResult } from './schema.ts';

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

const DIFF_CAP = 16 * 1024;

/** Hunks of a unified diff; the file stands beside it, in words a reader knows. */
export function diffOf({ content, structuredPatch }: z.infer<typeof fileResult>): string | undefined {
  const isNewFile = structuredPatch.length === 0 && content !== undefined;
  const text = isNewFile ? unifiedDiff('', content) : formatHunks(structuredPatch);
  return text === '' ? undefined : capText(text, DIFF_CAP);
}

/** What an edit that is only asked for would do, as far as its arguments tell: they name no line numbers. */
export function proposedDiff(input: unknown): string | undefined {
  const before = fieldOf(input, 'old_string');
  const after = fieldOf(input, 'new_string') ?? fieldOf(input, 'content') ?? fieldOf(input, 'new_source');
  if (after === undefined) return undefined;
  const removed = linesOf(before ?? '').map((line) => `-${line}`);
  const added = linesOf(after).map((line) => `+${line}`);
  return capText([...removed, ...added].join('\n'), DIFF_CAP);
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
