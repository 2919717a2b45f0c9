import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { Paths } from '../paths.ts';
import { parseCatalogue } from './catalogue.ts';

const SYNC_MODELS_URL = 'https://raw.githubusercontent.com/sigoden/aichat/main/models.yaml';

export const syncModelsUrl = (config: AppConfig) => config.sync_models_url ?? SYNC_MODELS_URL;

interface SyncOptions {
  url: string;
  paths: Paths;
  fetch: typeof globalThis.fetch;
  signal?: AbortSignal;
}

/** The user's correction of the list of models, as the registry takes it. */
export function localModelsOverride(paths: Paths): { text: string; path: string } | undefined {
  const path = paths.modelsOverrideFile();
  return existsSync(path) ? { text: readFileSync(path, 'utf8'), path } : undefined;
}

/** Replaces the list by the one at `url`. It is checked first: offline, or given nonsense, the old list stays. */
export async function syncModels({ url, paths, fetch, signal }: SyncOptions): Promise<number> {
  const path = paths.modelsOverrideFile();
  let text: string;
  try {
    const response = await fetch(url, signal ? { signal } : {});
    if (!response.ok) throw new Error(`status ${response.status}`);
    text = await response.text();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ReefError('models_not_synced', `${url} cannot be read (${why}); the list stays as it is`, { cause });
  }
  const catalogue = parseCatalogue(text, url);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeAtomic(path, text);
  return [...catalogue.values()].reduce((sum, models) => sum + models.length, 0);
}
