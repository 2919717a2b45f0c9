import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';

const patchSchema = z.strictObject({
  url: z.string().optional(),
  /** Merged into the body by RFC 7396: null removes a key. */
  body: z.record(z.string(), z.unknown()).optional(),
  headers: z.record(z.string(), z.string().nullable()).optional(),
});
type Patch = z.output<typeof patchSchema>;

const patchedCall = z.enum(['chat_completions', 'embeddings', 'rerank']);
export type PatchedCall = z.output<typeof patchedCall>;

/** The keys inside a call are regular expressions over model names. */
const patchesSchema = z.partialRecord(patchedCall, z.record(z.string(), patchSchema));

/** The client's patches for a model, in the order of the file, then the model's own. */
export function patchesFor(
  configured: { client?: unknown; model?: unknown },
  { call, model }: { call: PatchedCall; model: string },
): Patch[] {
  const byName = Object.entries(patchesSchema.parse(configured.client ?? {})[call] ?? {});
  const found = byName.filter(([pattern]) => fullMatch(pattern, model)).map(([, patch]) => patch);
  return configured.model === undefined ? found : [...found, patchSchema.parse(configured.model)];
}

function fullMatch(pattern: string, model: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`).test(model);
  } catch (cause) {
    throw new ReefError('config_invalid', `The patch for "${pattern}" is not a regular expression`, { cause });
  }
}

export function patchedFetch(fetch: typeof globalThis.fetch, patches: readonly Patch[]): typeof globalThis.fetch {
  if (patches.length === 0) return fetch;
  return (input, init = {}) => {
    const url = patches.findLast((patch) => patch.url !== undefined)?.url ?? input;
    const headers = new Headers(init.headers);
    for (const [name, value] of patches.flatMap((patch) => Object.entries(patch.headers ?? {}))) {
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    }
    if (typeof init.body !== 'string') return fetch(url, { ...init, headers });
    return fetch(url, { ...init, headers, body: patchedBody(init.body, patches) });
  };
}

function patchedBody(text: string, patches: readonly Patch[]): string {
  const parsed = parseJson(text, { maxDepth: 512 });
  if (!parsed.ok) return text;
  return JSON.stringify(patches.reduce((body, patch) => merged(body, patch.body ?? {}), parsed.value));
}

function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  const result: Record<string, unknown> = base as Record<string, unknown>;
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
