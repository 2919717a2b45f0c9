import type { z } from 'zod';
import type { Draft } from './state.ts';

export type Reader = (draft: Draft, json: unknown) => void;

/** A line is read by its schema. */
export function reader<T>(what: string, schema: z.ZodType<T>, read: (draft: Draft, line: T) => void): Reader {
  return (draft, json) => {
    const line = fitting(draft, { what, schema }, json);
    if (line !== undefined) read(draft, line);
  };
}

/** What does not fit is told and changes nothing. */
export function fitting<T>(draft: Draft, { what, schema }: { what: string; schema: z.ZodType<T> }, json: unknown) {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  badLine(draft, `${what} does not fit: ${issue?.path.join('.')}: ${issue?.message}`);
  return undefined;
}

export function badLine(draft: Draft, message: string): void {
  const payload = { code: 'bad_line', message, fatal: false, scope: 'line', retryable: false } as const;
  draft.effects.push({ do: 'emit', event: { type: 'error', payload } });
}
