import { parseJson } from '../../base/safe-json.ts';
import type { Json } from '../../protocol/workflow.ts';
import type { ContextSegment } from '../memory/segment.ts';

export interface FileContent {
  filePath: string;
  fileContent: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})[^\n]*$/;

/**
 * The file a write segment means: `{filePath, fileContent}`, its JSON, or a text whose segment names the path and which
 * holds exactly one fenced block. Anything else gives the reason.
 */
export function fileContentOf({ content, filePath }: ContextSegment): FileContent | { ambiguous: string } {
  const whole = asFile(content) ?? (typeof content === 'string' ? asFile(jsonOf(content)) : undefined);
  if (whole) return whole;
  if (typeof content !== 'string') return { ambiguous: 'is neither {filePath, fileContent} nor text' };
  if (filePath === undefined) return { ambiguous: 'is text without a file path' };
  const blocks = fencedBlocks(content);
  const [only] = blocks;
  if (only === undefined || blocks.length > 1) return { ambiguous: `holds ${blocks.length} fenced blocks, not one` };
  return { filePath, fileContent: only };
}

function asFile(value: Json | undefined): FileContent | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { filePath, fileContent } = value;
  return typeof filePath === 'string' && typeof fileContent === 'string' ? { filePath, fileContent } : undefined;
}

function jsonOf(text: string): Json | undefined {
  const parsed = parseJson(text);
  return parsed.ok ? (parsed.value as Json) : undefined;
}

/** A fence ends with one of its own kind, at least as long; one that never ends is none. */
function fencedBlocks(text: string): string[] {
  const blocks: string[] = [];
  let open: { mark: string; from: number } | undefined;
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const mark = FENCE.exec(line.replace(/\r?\n$/, ''))?.[1];
    const isBare = mark !== undefined && line.trim() === mark;
    if (open && mark !== undefined && isBare && mark.startsWith(open.mark)) {
      blocks.push(text.slice(open.from, at));
      open = undefined;
    } else if (!open && mark !== undefined) open = { mark, from: at + line.length };
    at += line.length;
  }
  return blocks;
}
