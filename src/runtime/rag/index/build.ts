import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { toReefError } from '../../../protocol/errors.ts';
import type { Sqlite } from '../../../store/driver.ts';
import type { SourceDocument } from '../load/load-text.ts';
import { splitDocument } from '../text/split.ts';
import type { Embedder } from './embedder.ts';
import {
  createIndex,
  hasTraits,
  type IndexTraits,
  IndexWriter,
  type NewFile,
  openForBuilding,
  readMeta,
  writeMeta,
} from './writer.ts';

export interface BuildRequest {
  /** The file of the index. */
  path: string;
  traits: IndexTraits;
  embedder: Embedder | undefined;
  documents: AsyncIterable<SourceDocument>;
  signal?: AbortSignal | undefined;
  warn(message: string): void;
}

/** Makes an index from chunks that have their vectors already. */
export async function importIndex(path: string, traits: IndexTraits, files: readonly NewFile[]): Promise<void> {
  await replaceIndex(path, createIndex, (database) => {
    const writer = new IndexWriter(database);
    for (const file of files) writer.add(file);
    writer.finish();
    writeMeta(database, { ...traits, embedder: traits.wanted_embedder });
  });
}

export interface BuildReport {
  added: number;
  unchanged: number;
  removed: number;
  failed: { source: string; reason: string }[];
}

/** Updates a copy of the index and then replaces the index, so that readers and a failed build do no harm. Unchanged files are skipped. */
export async function buildIndex(request: BuildRequest): Promise<BuildReport> {
  const { path, traits } = request;
  const meta = readMeta(path);
  const isReusable = meta !== undefined && hasTraits(meta, traits) && meta.embedder === meta.wanted_embedder;
  const begin = async (temporary: string) => {
    if (!isReusable) return createIndex(temporary);
    await copyFile(path, temporary, constants.COPYFILE_FICLONE);
    return openForBuilding(temporary);
  };
  return await replaceIndex(path, begin, async (database) => {
    const embedding = new Embedding(request.embedder, request.warn);
    const report = await fill(new IndexWriter(database), embedding, request);
    writeMeta(database, { ...traits, embedder: embedding.usedId });
    return report;
  });
}

async function replaceIndex<T>(
  path: string,
  begin: (temporary: string) => Sqlite | Promise<Sqlite>,
  work: (database: Sqlite) => T | Promise<T>,
): Promise<T> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const database = await begin(temporary);
    let result: T;
    try {
      result = await work(database);
    } finally {
      database.close();
    }
    await sync(temporary);
    await rename(temporary, path);
    return result;
  } catch (error) {
    await rm(temporary, { force: true });
    await rm(`${temporary}-journal`, { force: true });
    throw error;
  }
}

/** Chunks per request to the embedder. */
const BATCH = 128;

interface Changed {
  source: string;
  hash: string;
  earlier: number | undefined;
  chunks: string[];
}

async function fill(writer: IndexWriter, embedding: Embedding, request: BuildRequest): Promise<BuildReport> {
  const known = writer.files();
  const report: BuildReport = { added: 0, unchanged: 0, removed: 0, failed: [] };
  const seen = new Set<string>();
  let pending: Changed[] = [];
  const store = async () => {
    const texts = pending.flatMap(({ chunks }) => chunks);
    storeAll(writer, pending, await embedding.of(texts, request.signal));
    report.added += pending.length;
    pending = [];
  };
  for await (const document of request.documents) {
    request.signal?.throwIfAborted();
    const { source } = document;
    if (seen.has(source)) continue;
    seen.add(source);
    try {
      const changed = await readChanged(document, known.get(source), request.traits);
      if (changed) pending.push(changed);
      else report.unchanged += 1;
    } catch (error) {
      const reason = toReefError(error).message;
      writer.fail(source, reason);
      report.failed.push({ source, reason });
    }
    if (pending.reduce((sum, { chunks }) => sum + chunks.length, 0) >= BATCH) await store();
  }
  await store();
  for (const [source, { id }] of known) {
    if (seen.has(source)) continue;
    writer.remove(source, id);
    report.removed += 1;
  }
  writer.finish();
  return report;
}

/** Undefined if the document has not changed. */
async function readChanged(
  document: SourceDocument,
  earlier: { id: number; hash: string } | undefined,
  { chunk_size: size, chunk_overlap: overlap }: IndexTraits,
): Promise<Changed | undefined> {
  const { source } = document;
  const content = await document.content();
  const hash = createHash('sha256').update(document.loadedBy).update('\0').update(content).digest('hex');
  if (earlier?.hash === hash) return undefined;
  const chunks = splitDocument(await document.text(), source, { size, overlap });
  return { source, hash, earlier: earlier?.id, chunks };
}

/** `vectors` holds those of all chunks of all files, in order. */
function storeAll(writer: IndexWriter, changed: readonly Changed[], vectors: Float32Array[] | undefined): void {
  let next = 0;
  for (const { source, hash, earlier, chunks } of changed) {
    if (earlier !== undefined) writer.remove(source, earlier);
    const first = next;
    next += chunks.length;
    writer.add({ source, hash, chunks: chunks.map((text, index) => ({ text, vector: vectors?.[first + index] })) });
  }
}

/** After its first failure the embedder is not used again: files with vectors would be found more often than others. */
class Embedding {
  readonly #embedder: Embedder | undefined;
  readonly #warn: (message: string) => void;
  #hasFailed = false;

  constructor(embedder: Embedder | undefined, warn: (message: string) => void) {
    this.#embedder = embedder;
    this.#warn = warn;
  }

  get usedId(): string {
    return this.#hasFailed ? '' : (this.#embedder?.id ?? '');
  }

  async of(texts: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[] | undefined> {
    if (!this.#embedder || this.#hasFailed || texts.length === 0) return undefined;
    try {
      return await this.#embedder.documents(texts, signal);
    } catch (error) {
      signal?.throwIfAborted();
      this.#hasFailed = true;
      this.#warn(`${this.#embedder.id} does not embed, so search is by words only: ${toReefError(error).message}`);
      return undefined;
    }
  }
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
