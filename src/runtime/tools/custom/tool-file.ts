import type { JsonSchema } from '../../models/client.ts';

/** One function of a tool file, as its author declared it. */
export interface Declared {
  name: string;
  description: string;
  parameters: JsonSchema;
  /** Variables it wants from the environment. */
  env: readonly { name: string; isRequired: boolean; preset?: string }[];
  /** Arguments that are lists: a shell gets them as arrays. */
  lists: readonly string[];
}

export const LANGUAGES = ['sh', 'py', 'ts', 'js'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface ToolFile {
  path: string;
  /** File name without its ending. */
  name: string;
  language: Language;
}

export function objectSchema(properties: Record<string, unknown>, required: readonly string[]): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) };
}
