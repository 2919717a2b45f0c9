import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { AppConfig } from '../config/app-config.ts';
import type { Paths } from '../paths.ts';
import { parseCatalogue } from './catalogue.ts';

const SYNC_MODELS_URL = 'https://raw.githubusercontent.com/sigoden/aichat/main/models.yaml';

export const syncModelsUrl = (config: AppConfig) => config.sync_models_url ?? SYNC_MODELS_URL;

/** The user's own list of models. */
export function localModelsOverride(paths: Paths): { text: string; path: string } | undefined {
  const path = paths.modelsOverrideFile();
  return existsSync(path) ? { text: readFileSync(path, 'utf8'), path } : undefined;
}

/** Replaces the list by the one at `url`, after a check. If that fails, the old list stays. */
export async function syncModels(url: string, paths: Paths, fetch: typeof globalThis.fetch): Promise<number> {
  const path = paths.modelsOverrideFile();
  let text: string;
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`status ${response.status}`);
    text = await response.text();
  } catch (cause) {
    const why = toReefError(cause).message;
    throw new ReefError('models_not_synced', `${url} cannot be read (${why}); the list stays as it is`, { cause });
  }
  const catalogue = parseCatalogue(text, url);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeAtomic(path, text);
  return [...catalogue.values()].reduce((sum, models) => sum + models.length, 0);
}
