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
  /** It is one of several in its script, and its name is the first word of the command line. */
  isCommand?: true;
  /** Programs that `@meta require-tools` names. */
  programs: readonly string[];
}

export const LANGUAGES = ['sh', 'py', 'ts', 'js'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The tool that a list means: Loki's lists name files, `fs_cat.sh`. */
export const toolNameOf = (entry: string): string => entry.replace(/\.(sh|py|ts|js)$/, '');

export interface ToolFile {
  path: string;
  /** The file name without its extension. */
  name: string;
  language: Language;
}

export function objectSchema(properties: Record<string, unknown>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}

const PROGRAMS = {
  'declare.py': new URL('declare.py', import.meta.url),
  'declare.mjs': new URL('declare.mjs', import.meta.url),
  'run.py': new URL('run.py', import.meta.url),
  'run.mjs': new URL('run.mjs', import.meta.url),
  'run.sh': new URL('run.sh', import.meta.url),
};

/** The program that declares or runs tools of a language, for its interpreter's command line. */
export function programText(name: keyof typeof PROGRAMS): string {
  return readFileSync(PROGRAMS[name], 'utf8');
}
