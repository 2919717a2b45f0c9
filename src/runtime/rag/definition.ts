import { parseDocument } from 'yaml';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { parseBy, readIfThere } from '../config/settings-file.ts';
import { normalised } from './index/vectors.ts';
import type { NewFile } from './index/writer.ts';

const optional = <T extends z.ZodType>(schema: T) => schema.nullable().default(null);
const count = z.int().min(1);

/** Loki's keys. Other keys of the file are kept. */
const definitionSchema = z.looseObject({
  embedding_model: optional(z.string().min(1)),
  chunk_size: optional(count),
  chunk_overlap: optional(z.int().min(0)),
  reranker_model: optional(z.string().min(1)),
  top_k: optional(count),
  document_paths: z.array(z.string().min(1)).default([]),
});
export type RagDefinition = z.output<typeof definitionSchema>;

/** Undefined if there is no such file. */
export function readDefinition(path: string): RagDefinition | undefined {
  const text = readIfThere(path);
  return text === undefined ? undefined : parseBy({ file: path, text }, definitionSchema, { code: 'rag_invalid' });
}

/** Changes the given keys and keeps the rest of the file, with its comments. */
export async function writeDefinition(path: string, change: Partial<RagDefinition>): Promise<void> {
  const document = parseDocument(readIfThere(path) ?? '');
  for (const [key, value] of Object.entries(change)) document.set(key, value);
  await writeAtomic(path, document.toString());
}

/** Loki keeps documents and vectors in the definition. Vectors are little-endian floats in base64. */
const lokiSchema = z.looseObject({
  files: z.record(
    z.string(),
    z.looseObject({ path: z.string(), documents: z.array(z.looseObject({ page_content: z.string() })) }),
  ),
  vectors: z.record(z.string(), z.string()),
});

/** Loki's id of a chunk: the id of its file in the upper half, its number in the lower. */
const HALF = 2 ** 32;

/** The files a Loki definition has indexed, so that they need not be embedded again. Without our hash, a rebuild reads them anew. */
export function lokiFiles(definition: RagDefinition): NewFile[] | undefined {
  const read = lokiSchema.safeParse(definition);
  if (!read.success) return undefined;
  const { files, vectors } = read.data;
  const imported = Object.entries(files).map(([id, { path, documents }]): NewFile => {
    const chunks = documents.map(({ page_content: text }, n) => ({
      text,
      vector: decode(vectors[Number(id) * HALF + n]),
    }));
    return { source: path, hash: '', chunks };
  });
  const isWhole = imported.every(({ chunks }) => chunks.every(({ vector }) => vector !== undefined));
  return imported.length > 0 && isWhole ? imported : undefined;
}

function decode(base64: string | undefined): Float32Array | undefined {
  if (base64 === undefined) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return normalised(Float32Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(4 * n)));
}
