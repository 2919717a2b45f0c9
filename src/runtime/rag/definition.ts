import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { parseBy } from '../config/settings-file.ts';
import { normalised } from './index/vectors.ts';
import type { NewFile } from './index/writer.ts';

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
  return parseBy({ file: path, text }, definitionSchema, { code: 'rag_invalid' });
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

/** Loki keeps documents and vectors in the definition itself; vectors are little-endian floats in base64. */
const lokiSchema = z.looseObject({
  files: z.record(
    z.string(),
    z.looseObject({ path: z.string(), documents: z.array(z.looseObject({ page_content: z.string() })) }),
  ),
  vectors: z.record(z.string(), z.string()),
});

/** A file's id in the upper half of a document's, the number of the chunk in the lower. */
const HALF = 2 ** 32;

/**
 * What a Loki definition has indexed already, so that nothing is embedded again; undefined if it holds nothing of the kind. The
 * files carry no hash of ours: the first rebuild reads them anew.
 */
export function lokiFiles(definition: RagDefinition): NewFile[] | undefined {
  const read = lokiSchema.safeParse(definition);
  if (!read.success) return undefined;
  const { files, vectors } = read.data;
  const imported = Object.entries(files).map(([id, { path, documents }]): NewFile => {
    const chunks = documents.map(({ page_content: text }, n) => ({ text, vector: decode(vectors[vectorKey(id, n)]) }));
    return { source: path, hash: '', chunks };
  });
  const isWhole = imported.every(({ chunks }) => chunks.every(({ vector }) => vector !== undefined));
  return imported.length > 0 && isWhole ? imported : undefined;
}

function vectorKey(file: string, chunk: number): string {
  return String(Number(file) * HALF + chunk);
}

function decode(base64: string | undefined): Float32Array | undefined {
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return normalised(Float32Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(4 * n)));
}
