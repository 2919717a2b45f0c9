import type { ImportPackage } from './installed-packages.ts';
import { loadOptional } from './optional.ts';
import type { SdkDialect } from './sdk-types.ts';

/** The SDK costs a tenth of a second: it is loaded when the first model is called, and only the part that is needed. */
export async function loadDialect(type: string, packages: ImportPackage): Promise<SdkDialect> {
  switch (type) {
    case 'openai':
      return (await import('./openai.ts')).openai;
    case 'claude':
      return (await import('./claude.ts')).claude;
    case 'gemini':
      return (await import('./gemini.ts')).gemini;
    case 'openai-compatible':
      return (await import('./openai-compatible.ts')).openaiCompatible;
    default:
      return loadOptional(type, packages);
  }
}
