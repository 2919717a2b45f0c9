import type { Stats } from 'node:fs';
import { glob, readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { onFirstUse } from '../../../base/lazily.ts';
import { readUpTo } from '../../../base/read-up-to.ts';
import { parseJson } from '../../../base/safe-json.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { runLoader } from './command-loader.ts';
import { type LoadSettings, loaderFor, loadText, type SourceDocument } from './load-text.ts';
import { type Fetch, sitePages, webPage } from './web.ts';

export interface SourceSettings extends LoadSettings {
  fetch: Fetch;
}

const MAX_FILE = 64 * 1024 * 1024;
const SKIPPED_FOLDERS = new Set(['node_modules']);

/**
 * The documents of a path, a folder, a glob, a URL, `url/**` for the pages below it, or `loader:path`. A source without documents
 * gives one that fails, so that it is listed.
 */
export async function* documentsOf(
  sources: readonly string[],
  settings: SourceSettings,
): AsyncGenerator<SourceDocument> {
  for (const source of sources) yield* documentsOfOne(source, settings);
}

async function* documentsOfOne(source: string, settings: SourceSettings): AsyncGenerator<SourceDocument> {
  if (/^https?:\/\//.test(source)) {
    if (source.endsWith('/**')) yield* sitePages(source.slice(0, -3), settings.fetch);
    else yield webPage(source, settings.fetch);
    return;
  }
  const named = namedLoader(source, settings);
  if (named) yield* named;
  else if (/[*?[{]/.test(source)) yield* globbed(source, settings);
  else yield* located(resolve(settings.cwd, source), settings);
}

function namedLoader(source: string, settings: LoadSettings): AsyncIterable<SourceDocument> | undefined {
  const [, name = '', path = ''] = /^([A-Za-z0-9_-]+):(.+)$/.exec(source) ?? [];
  const command = Object.hasOwn(settings.loaders, name) ? settings.loaders[name] : undefined;
  return command === undefined ? undefined : loadedBy(command, { source, name, path }, settings);
}

/** What a loader prints is one document, or several as `[{"path": …, "contents": …}]`. */
const manySchema = onFirstUse(() => z.array(z.object({ path: z.string().min(1), contents: z.string() })).min(1));

async function* loadedBy(
  command: string,
  { source, name, path }: { source: string; name: string; path: string },
  settings: LoadSettings,
): AsyncGenerator<SourceDocument> {
  const document = (at: string, text: string): SourceDocument => ({
    source: at,
    loadedBy: command,
    content: async () => Buffer.from(text),
    text: async () => text,
  });
  let printed: string;
  try {
    printed = await runLoader({ command, input: path, isOffline: false }, settings);
  } catch (error) {
    settings.signal?.throwIfAborted();
    yield failing(source, error);
    return;
  }
  const parsed = /^\s*\[/.test(printed) ? parseJson(printed) : undefined;
  const many = parsed?.ok ? manySchema().safeParse(parsed.value) : undefined;
  if (!many?.success) yield document(source, printed);
  for (const { path: at, contents } of many?.data ?? []) {
    if (at.startsWith(source)) yield document(at, contents);
    else yield document(at.startsWith(path) ? `${name}:${at}` : `${source}/${at}`, contents);
  }
}

async function* globbed(pattern: string, settings: LoadSettings): AsyncGenerator<SourceDocument> {
  const paths: string[] = [];
  for await (const path of glob(pattern, { cwd: settings.cwd, exclude: isSkipped }))
    paths.push(resolve(settings.cwd, path));
  let found = 0;
  for (const path of paths.sort()) {
    const entry = await stat(path).catch(() => undefined);
    if (entry?.isDirectory()) continue;
    found += 1;
    yield entryDocument(path, entry, settings);
  }
  if (found === 0) yield nothing(pattern, 'No file matches');
}

function isSkipped(name: string): boolean {
  return SKIPPED_FOLDERS.has(name.slice(name.lastIndexOf('/') + 1));
}

async function* located(path: string, settings: LoadSettings): AsyncGenerator<SourceDocument> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) yield* below(path, settings);
  else yield entryDocument(path, found, settings);
}

/** Refuses pipes and devices: reading them could wait for ever. */
function entryDocument(path: string, found: Stats | undefined, settings: LoadSettings): SourceDocument {
  if (found?.isFile()) return fileDocument(path, settings);
  return nothing(path, found ? 'It is neither a file nor a folder' : 'No such file or folder');
}

/** Skips hidden files and installed packages. */
async function* below(folder: string, settings: LoadSettings): AsyncGenerator<SourceDocument> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (!entries) yield nothing(folder, 'The folder cannot be read');
  for (const entry of (entries ?? []).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.') || SKIPPED_FOLDERS.has(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* below(path, settings);
    else if (entry.isFile()) yield fileDocument(path, settings);
  }
}

function fileDocument(path: string, settings: LoadSettings): SourceDocument {
  let read: Promise<Uint8Array> | undefined;
  const content = () => {
    read ??= readBounded(path);
    return read;
  };
  const text = async () => await loadText(path, await content(), settings);
  return { source: path, loadedBy: loaderFor(path, settings), content, text };
}

async function readBounded(path: string): Promise<Uint8Array> {
  const { bytes, isWhole } = await readUpTo(path, MAX_FILE);
  if (!isWhole) throw new ReefError('loader_failed', `${path} is larger than ${MAX_FILE / 2 ** 20} MiB`);
  return bytes;
}

function nothing(source: string, why: string): SourceDocument {
  return failing(source, new ReefError('loader_failed', `${why}: ${source}`));
}

function failing(source: string, error: unknown): SourceDocument {
  const fail = () => Promise.reject(error);
  return { source, loadedBy: '', content: fail, text: fail };
}
