import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { SafeDir } from '../../base/safe-dir.ts';
import { parseJson } from '../../base/safe-json.ts';
import { refusePath, safeParts } from '../../base/safe-path.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { writeUnlessSame } from '../../repostate/files/write-same.ts';
import { FAILURE, SUCCESS } from '../language/names.ts';
import type { ContextSegment } from '../memory/segment.ts';
import { makeSegments, type Worker, type WorkerOutput } from './worker.ts';

/** Segments whose content belongs into a file. */
export const WRITE_TYPES: ReadonlySet<string> = new Set(['CODE_OUTPUT', 'DOCUMENTATION_OUTPUT']);

interface WriterDeps {
  openDir(root: string, options?: { effect: string }): SafeDir;
  edited?(worktreePath: string, paths: readonly string[]): void;
}

/** `Internal:FileSystemWriter` writes generated content to the disk, inside the worktree. */
export function fileSystemWriter({ openDir, edited }: WriterDeps): Worker {
  return async (input, context) => {
    const { worktree_path, run_id } = input.system_metadata;
    const dir = openDir(worktree_path, { effect: `${run_id}/${context.visitKey}` });
    const segments = input.execution_payload.filter(({ type, id }) => WRITE_TYPES.has(type) && !context.isApplied(id));
    const applied = segments.map(({ id }) => id);
    const fail = (content: Json, done: string[] = []): WorkerOutput => {
      const made = makeSegments(input.system_metadata, context, [{ type: 'ERROR', content }]);
      const new_payload = [...input.execution_payload, ...made];
      return { signal: FAILURE, new_payload, stats: { filesWritten: done.length } };
    };
    const plan = await planWrites(dir, segments);
    if ('refused' in plan) return fail(plan.refused);
    const written: FileContent[] = [];
    const paths = () => written.map(({ filePath }) => filePath);
    for (const file of plan.files) {
      try {
        await writeUnlessSame(dir, file.filePath, Buffer.from(file.fileContent)); // a repeat changes no byte and no time
      } catch (error) {
        const done = paths();
        edited?.(dir.root, done);
        const left = plan.files.slice(written.length).map(({ filePath }) => filePath);
        return fail({ ...ioError(error, file.filePath), written: done, notWritten: left }, done);
      }
      written.push(file);
    }
    edited?.(dir.root, paths());
    const linesWritten = written.reduce((sum, { fileContent }) => sum + lines(fileContent), 0);
    return {
      signal: SUCCESS,
      new_payload: input.execution_payload,
      stats: { filesWritten: written.length, linesWritten },
      applied,
    };
  };
}

/** All paths and contents are checked before the first write. The last content of a path counts. */
async function planWrites(
  dir: SafeDir,
  segments: ContextSegment[],
): Promise<{ files: FileContent[] } | { refused: Json }> {
  const files = new Map<string, FileContent>();
  for (const segment of segments) {
    const file = fileContentOf(segment);
    if ('ambiguous' in file) {
      const message = `${segment.id} ${file.ambiguous}.`;
      return { refused: { code: 'ambiguous_content', message, segment: segment.id } };
    }
    const refusal = await refusalOf(dir, file.filePath);
    if (refusal) return { refused: { code: refusal.code, message: refusal.message, filePath: file.filePath } };
    const path = safeParts(file.filePath).join('/');
    files.delete(path);
    files.set(path, { ...file, filePath: path });
  }
  return { files: [...files.values()] };
}

async function refusalOf(dir: SafeDir, path: string): Promise<ReefError | undefined> {
  try {
    if (safeParts(path).length === 0) throw refusePath(path, 'names no file');
    const entry = await dir.stat(path);
    if (entry.kind === 'link' && (await leadsOut(dir.root, path))) throw refusePath(path, 'is a link that leads out');
    return undefined;
  } catch (error) {
    if (error instanceof ReefError && error.code === 'path_outside_worktree') return error;
    return undefined; // absent, or a fault that the write itself will meet and tell
  }
}

async function leadsOut(root: string, path: string): Promise<boolean> {
  const base = await realpath(root);
  const target = await realpath(join(root, path)).catch(() => undefined);
  return target === undefined || !target.startsWith(base + sep);
}

function ioError(error: unknown, filePath: string): { code: string; message: string; filePath: string } {
  const { code = 'io_error', message } = error as NodeJS.ErrnoException;
  return { code, message, filePath };
}

function lines(text: string): number {
  return text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

interface FileContent {
  filePath: string;
  fileContent: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** The file in a write segment: `{filePath, fileContent}`, its JSON, or a text with a path and exactly one fenced block. */
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

/** A fence ends with one of its own kind, at least as long; an open one is none. */
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
