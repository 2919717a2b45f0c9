import { readFileSync } from 'node:fs';
import type { JsonSchema } from '../../models/client.ts';

/** One function of a tool file. */
export interface Declared {
  name: string;
  description: string;
  parameters: JsonSchema;
  /** Environment variables it needs. */
  env: readonly { name: string; isRequired: boolean; preset?: string }[];
  /** Arguments of a shell tool that are lists: it gets them as arrays. */
  lists: readonly string[];
}

export const LANGUAGES = ['sh', 'py', 'ts', 'js'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface ToolFile {
  path: string;
  /** The file name without its extension. */
  name: string;
  language: Language;
}

export function objectSchema(properties: Record<string, unknown>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

/** The program that declares or runs tools of a language, for its interpreter's command line. */
export function programText(name: 'declare.py' | 'run.py' | 'declare.mjs' | 'run.mjs' | 'run.sh'): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
