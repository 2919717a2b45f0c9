import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { manifestFileSchema } from '../../protocol/workflow.ts';

const MANIFEST_FILES = ['.reef/workflows.json', '.reef/workflows.yaml', '.vision/workflows.json'] as const;

/** Reads a file of the main checkout or of the base commit, never of a worktree; undefined when absent. */
export type ReadProjectFile = (path: string) => Promise<string | undefined>;

export interface FoundManifest {
  path: string;
  text: string;
  /** Other files that hold a manifest too; they are not read. */
  ignored: string[];
}

export async function findManifest(read: ReadProjectFile): Promise<FoundManifest | undefined> {
  const found: { path: string; text: string }[] = [];
  for (const path of MANIFEST_FILES) {
    const text = await read(path);
    if (text !== undefined) found.push({ path, text });
  }
  const [first, ...others] = found;
  return first && { ...first, ignored: others.map(({ path }) => path) };
}

/** For callers that named the file or cannot do without one. */
export function manifestNotFound(path?: string): ReefError {
  const where = path ?? MANIFEST_FILES.join(', ');
  return new ReefError('manifest_not_found', `There is no workflow file: ${where}.`, { details: { path: where } });
}

/** What a workflow file may hold, for editors and `reef workflow schema`. Formatted as Biome would. */
export function workflowJsonSchema(): string {
  const schema = z.toJSONSchema(manifestFileSchema, { target: 'draft-2020-12', io: 'input' });
  const text = JSON.stringify(schema, null, 2);
  const flat = text.replace(
    /\[\n +([^\s[\]{}][^[\]{}]*?)\n +\]/g,
    (_, items: string) => `[${items.split(/,\s+/).join(', ')}]`,
  );
  return `${flat}\n`;
}
