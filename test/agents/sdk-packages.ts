import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A folder with packages of model providers, as a user's configuration folder has them. */
export const SDK_FOLDER = import.meta.dirname;

export const installed = (name: string) => existsSync(join(SDK_FOLDER, 'node_modules', name, 'package.json'));
