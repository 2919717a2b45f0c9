import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A folder with packages of model providers, as a user's configuration folder has them. */
export const SDK_FOLDER = import.meta.dirname;

export const SDK_PACKAGES = ['@ai-sdk/amazon-bedrock', '@ai-sdk/azure', '@ai-sdk/cohere', '@ai-sdk/google-vertex'];

export const installed = (name: string) => existsSync(join(SDK_FOLDER, 'node_modules', name, 'package.json'));
