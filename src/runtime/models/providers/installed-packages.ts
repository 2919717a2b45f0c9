import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface ImportPackage {
  /** Undefined when it is not installed. */
  load(name: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** The command, ready to be copied. */
  howToInstall(nameAndVersion: string): string;
}

/** Packages beside Reef's own, or in a folder of the user's: Reef itself may lie where only an administrator may write. */
export function packagesIn(folder: string): ImportPackage {
  return {
    load: async (name) => (await found(() => import(name))) ?? (await found(() => importFrom(folder, name))),
    howToInstall: (nameAndVersion) => `npm install --prefix '${folder}' ${nameAndVersion}`,
  };
}

function importFrom(folder: string, name: string) {
  return import(pathToFileURL(createRequire(join(folder, 'package.json')).resolve(name)).href);
}

/** Undefined when there is no such package. */
async function found<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
