import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { ReefError } from '../../protocol/errors.ts';

const optional = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);
const count = z.int().min(1);

/** Loki's keys. What else such a file holds is left alone. */
const definitionSchema = z.looseObject({
  embedding_model: optional(z.string().min(1)),
  chunk_size: optional(count),
  chunk_overlap: optional(z.int().min(0)),
  reranker_model: optional(z.string().min(1)),
  top_k: optional(count),
  document_paths: z.array(z.string().min(1)).default([]),
});
export type RagDefinition = z.output<typeof definitionSchema>;

/** Undefined when there is no such file. */
export async function readDefinition(path: string): Promise<RagDefinition | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const document = parseDocument(text);
  const [mistake] = document.errors;
  if (mistake) throw invalid(path, [mistake.message]);
  const read = definitionSchema.safeParse(document.toJS() ?? {});
  if (read.success) return read.data;
  throw invalid(
    path,
    read.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`),
  );
}

/** Sets what is given and keeps the rest of the file, comments included. */
export async function writeDefinition(path: string, change: Partial<RagDefinition>): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const document = parseDocument(text);
  for (const [key, value] of Object.entries(change)) document.set(key, value);
  await writeAtomic(path, document.toString());
}

function invalid(path: string, problems: readonly string[]): ReefError {
  return new ReefError('rag_invalid', `${path}: ${problems.join('; ')}`, { details: { file: path, problems } });
}
