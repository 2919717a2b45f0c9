import { realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { SafeDir } from '../../base/safe-dir.ts';
import { refusePath, safeParts } from '../../base/safe-path.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { writeUnlessSame } from '../../repostate/files/write-same.ts';
import { FAILURE, SUCCESS } from '../language/names.ts';
import type { ContextSegment } from '../memory/segment.ts';
import { type FileContent, fileContentOf } from './file-content.ts';
import { makeSegments, type Worker } from './worker.ts';

const WRITE_TYPES = new Set(['CODE_OUTPUT', 'DOCUMENTATION_OUTPUT']);

/** `Internal:FileSystemWriter`: the one that brings generated content to the disk, inside the worktree. */
export function fileSystemWriter({ openDir }: { openDir(root: string): SafeDir }): Worker {
  return async (input, context) => {
    const dir = openDir(input.system_metadata.worktree_path);
    const segments = input.execution_payload.filter(({ type, id }) => WRITE_TYPES.has(type) && !context.isApplied(id));
    const applied = segments.map(({ id }) => id);
    const fail = (content: Json, done: string[] = []) => ({
      signal: FAILURE as typeof FAILURE,
      new_payload: [
        ...input.execution_payload,
        ...makeSegments(input.system_metadata, context, [{ type: 'ERROR', content }]),
      ],
      stats: { filesWritten: done.length },
    });
    const plan = await planWrites(dir, segments);
    if ('refused' in plan) return fail(plan.refused);
    const written: FileContent[] = [];
    for (const file of plan.files) {
      try {
        await writeUnlessSame(dir, file.filePath, Buffer.from(file.fileContent)); // a repeat changes no byte and no time
      } catch (error) {
        const done = written.map(({ filePath }) => filePath);
        const left = plan.files.slice(written.length).map(({ filePath }) => filePath);
        return fail({ ...ioError(error, file.filePath), written: done, notWritten: left }, done);
      }
      written.push(file);
    }
    const linesWritten = written.reduce((sum, { fileContent }) => sum + lines(fileContent), 0);
    return {
      signal: SUCCESS,
      new_payload: input.execution_payload,
      stats: { filesWritten: written.length, linesWritten },
      applied,
    };
  };
}

/** All paths and contents are judged before the first byte is written. Of one path the last content counts. */
async function planWrites(
  dir: SafeDir,
  segments: ContextSegment[],
): Promise<{ files: FileContent[] } | { refused: Json }> {
  const files = new Map<string, FileContent>();
  for (const segment of segments) {
    const file = fileContentOf(segment);
    if ('ambiguous' in file) {
      return {
        refused: { code: 'ambiguous_content', message: `${segment.id} ${file.ambiguous}.`, segment: segment.id },
      };
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
