import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import type { Json, WorkflowManifest } from '../../protocol/workflow.ts';
import { BUILT_IN_SCHEMAS } from '../manifest/content-schemas.ts';

/** Cleaned content, or everything that is wrong with it. */
export type ContentRule = (content: Json) => { content: Json } | { faults: string[] };

/** The rule of a block's `validationSchema`: of the built-in two, or a JSON Schema of the manifest. */
export function contentRule(name: string | undefined, schemas: WorkflowManifest['schemas']): ContentRule | undefined {
  if (name === undefined) return undefined;
  const own = schemas !== undefined && Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  if (own) return own.type === 'string' ? textRule(z.fromJSONSchema(own)) : jsonRule(z.fromJSONSchema(own));
  const builtIn = name === 'CodeOnly' || name === 'CodeAndExplanation' ? BUILT_IN_SCHEMAS[name] : undefined;
  if (!builtIn) return () => ({ faults: [`there is no schema "${name}"`] });
  return builtIn.form === 'text' ? textRule(builtIn.schema) : jsonRule(builtIn.schema);
}

function textRule(schema: z.ZodType): ContentRule {
  return (content) => {
    // A write segment holds its text beside its path.
    if (typeof content === 'object' && content !== null && !Array.isArray(content) && 'fileContent' in content) {
      const faults = faultsOf(schema, content.fileContent ?? null);
      return faults.length > 0 ? { faults } : { content };
    }
    const text = typeof content === 'string' ? withoutFence(content) : content;
    const faults = faultsOf(schema, text);
    return faults.length > 0 ? { faults } : { content: text };
  };
}

function jsonRule(schema: z.ZodType): ContentRule {
  return (content) => {
    const parsed =
      typeof content === 'string' ? parseJson(withoutFence(content)) : { ok: true as const, value: content };
    if (!parsed.ok) return { faults: [`is no JSON: ${parsed.why}`] };
    const value = parsed.value as Json;
    const faults = faultsOf(schema, value);
    return faults.length > 0 ? { faults } : { content: value };
  };
}

function faultsOf(schema: z.ZodType, value: unknown): string[] {
  const parsed = schema.safeParse(value);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(': '));
}

/** One fence around everything is the model's habit, not content. */
export function withoutFence(text: string): string {
  const lines = text.trim().split('\n');
  const mark = /^(`{3,}|~{3,})[^`]*$/.exec(lines[0] ?? '')?.[1];
  const isWhole = mark !== undefined && lines.length > 1 && (lines.at(-1) ?? '').trim() === mark;
  const inner = lines.slice(1, -1);
  return isWhole && !inner.some((line) => line.startsWith(mark)) ? inner.join('\n') : text;
}
