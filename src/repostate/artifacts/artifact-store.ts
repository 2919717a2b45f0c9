import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { onFirstUse } from '../../base/lazily.ts';
import type { Redact } from '../../base/redact.ts';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import { artifactId } from '../prompt/caps.ts';

interface Origin {
  jobId: string;
  /** A name in addition to its `a:` id: `t12` for a whole turn, `task`. */
  name?: string;
}

interface ArtifactSlice {
  id: string;
  text: string;
  offset: number;
  total: number;
  /** Absent at the end. */
  nextOffset?: number;
}

interface ReadOptions {
  offset?: number | undefined;
  limit?: number | undefined;
  /** Returns only lines that contain this text, with their numbers. */
  grep?: string | undefined;
}

export interface ArtifactStore {
  /** Readable afterwards as `artifactId(text)`. */
  put(text: string, from: Origin): Promise<void>;
  read(id: string, options?: ReadOptions): Promise<ArtifactSlice>;
}

interface StoreSettings {
  /** The folder `artifacts` of the home. */
  dir: string;
  /** The tree of jobs that may read what this store keeps. */
  rootId: string;
  /** The job whose turns are `t<n>`. */
  jobId: string;
  redact: Redact;
  write?(path: string, text: string): Promise<void>;
}

const PAGE = 6_000;
const TREES = 'trees';

const entrySchema = z.strictObject({ job: z.string(), name: z.string(), hash: z.string().regex(/^[0-9a-f]{64}$/) });

/** Stores what is left out of prompts: one file per content, and one list of names per tree of jobs. */
export function createArtifactStore({ dir, rootId, jobId, redact, write = writeAtomic }: StoreSettings): ArtifactStore {
  const known = new Map<string, string>();
  const listFile = join(dir, TREES, `${safeName(rootId)}.jsonl`);
  const open = onFirstUse(async () => {
    await mkdir(join(dir, TREES), { recursive: true, mode: 0o700 });
    for (const { job, name, hash } of await readIndex(listFile)) known.set(keyOf(job, name), hash);
  });
  const remember = async (job: string, name: string, hash: string) => {
    if (known.get(keyOf(job, name)) === hash) return;
    known.set(keyOf(job, name), hash);
    await appendFile(listFile, `${JSON.stringify({ job, name, hash })}\n`, { mode: 0o600 });
  };
  const find = (id: string): string | undefined => {
    if (id.startsWith('a:')) return known.get(keyOf('', id));
    const [name = '', job = jobId] = id.split('/').reverse();
    return known.get(keyOf(job, name));
  };
  return {
    async put(text, from) {
      await open();
      const kept = redact(text);
      const hash = createHash('sha256').update(kept).digest('hex');
      const file = join(dir, hash);
      // The name is the hash of the content, so an existing file is right. A new date keeps it from being pruned before it is named.
      const now = new Date();
      await utimes(file, now, now).catch(() => write(file, kept));
      await remember('', artifactId(text), hash);
      if (from.name !== undefined) await remember(from.jobId, from.name, hash);
    },
    async read(id, options = {}) {
      await open();
      const hash = find(id);
      if (hash === undefined) throw await missing(dir, id, listFile);
      const text = await readFile(join(dir, hash), 'utf8').catch((cause: unknown) => {
        throw new ReefError('artifact_not_found', `The text of ${id} is no longer kept.`, { cause, details: { id } });
      });
      return pageOf(id, options.grep === undefined ? text : matching(text, options.grep), options);
    },
  };
}

/** Each page begins where the one before ended, at a whole character. */
function pageOf(id: string, text: string, { offset = 0, limit = PAGE }: ReadOptions): ArtifactSlice {
  const from = Math.min(Math.max(0, Math.floor(offset)), text.length);
  const most = Math.min(Math.max(2, Math.floor(limit)), PAGE);
  let to = Math.min(text.length, from + most);
  if (to < text.length && /[\udc00-\udfff]/.test(text[to] ?? '') && /[\ud800-\udbff]/.test(text[to - 1] ?? '')) to--;
  return {
    id,
    text: text.slice(from, to),
    offset: from,
    total: text.length,
    ...(to < text.length && { nextOffset: to }),
  };
}

function matching(text: string, wanted: string): string {
  const lines = text.split('\n');
  return lines.flatMap((line, index) => (line.includes(wanted) ? [`${index + 1}: ${line}`] : [])).join('\n');
}

/** The error says when an artifact belongs to another tree, so that the agent stops asking. */
async function missing(dir: string, id: string, own: string): Promise<ReefError> {
  for (const name of await readdir(join(dir, TREES))) {
    const file = join(dir, TREES, name);
    if (file === own) continue;
    const isTheirs = (await readIndex(file)).some((entry) => id === entry.name || id === `${entry.job}/${entry.name}`);
    if (isTheirs && (id.includes('/') || id.startsWith('a:'))) {
      return new ReefError('not_in_scope', `${id} belongs to another tree of jobs.`, { details: { id } });
    }
  }
  return new ReefError('artifact_not_found', `There is no artifact ${id}.`, { details: { id } });
}

/** A line that a crash cut off is ignored: the restored job stores its text again. */
async function readIndex(file: string): Promise<z.infer<typeof entrySchema>[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    const parsed = parseJson(line);
    const entry = entrySchema.safeParse(parsed.ok ? parsed.value : undefined);
    return entry.success ? [entry.data] : [];
  });
}

function keyOf(job: string, name: string): string {
  return `${job}\0${name}`;
}

function safeName(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, '_');
}

interface PruneInput {
  dir: string;
  now: Date;
  /** A job or run of this tree is still at work. */
  isActive(tree: string): boolean;
  maxBytes?: number;
}

const MAX_BYTES = 1024 ** 3;
const MAX_AGE_MS = 7 * 24 * 3_600_000;
/** A text is written before it is named, so a younger one may still get its name. */
const UNNAMED_MS = 3_600_000;

interface Tree {
  name: string;
  hashes: Set<string>;
  isActive: boolean;
  lastMs: number;
}

/**
 * Removes the texts of trees that stored nothing for seven days and, above a gigabyte, of the oldest trees. Never removes those
 * of an active tree, nor a text that another tree names as well.
 */
export async function pruneArtifacts(input: PruneInput): Promise<{ trees: string[]; files: number }> {
  const { dir, now, maxBytes = MAX_BYTES } = input;
  const all = await readTrees(input);
  const files = await textsIn(dir);
  const finished = all.filter(({ isActive }) => !isActive).sort((a, b) => a.lastMs - b.lastMs);
  const gone = new Set(finished.filter(({ lastMs }) => now.getTime() - lastMs > MAX_AGE_MS));
  const kept = () => new Set(all.filter((tree) => !gone.has(tree)).flatMap(({ hashes }) => [...hashes]));
  const keptBytes = () => [...kept()].reduce((sum, hash) => sum + (files.get(hash)?.size ?? 0), 0);
  for (const tree of finished) {
    if (keptBytes() <= maxBytes) break;
    gone.add(tree);
  }
  for (const { name } of gone) await rm(join(dir, TREES, name), { force: true });
  const named = kept();
  const removable = [...files].filter(
    ([hash, { mtimeMs }]) => !named.has(hash) && now.getTime() - mtimeMs > UNNAMED_MS,
  );
  for (const [hash] of removable) await rm(join(dir, hash), { force: true });
  return { trees: [...gone].map(({ name }) => treeId(name)), files: removable.length };
}

async function readTrees({ dir, isActive }: PruneInput): Promise<Tree[]> {
  const names = await readdir(join(dir, TREES)).catch(() => []);
  return Promise.all(
    names.map(async (name) => {
      const file = join(dir, TREES, name);
      const hashes = new Set((await readIndex(file)).map(({ hash }) => hash));
      return { name, hashes, isActive: isActive(treeId(name)), lastMs: (await stat(file)).mtimeMs };
    }),
  );
}

async function textsIn(dir: string): Promise<Map<string, { size: number; mtimeMs: number }>> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => /^[0-9a-f]{64}$/.test(name));
  return new Map(await Promise.all(names.map(async (name) => [name, await stat(join(dir, name))] as const)));
}

function treeId(name: string): string {
  return name.replace(/\.jsonl$/, '');
}
