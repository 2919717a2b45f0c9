import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { parseBy } from '../config/settings-file.ts';
import type { ModelData } from './client.ts';

const modelSchema = onFirstUse(() => {
  const count = z.number().int().min(1).nullish();
  const price = z.number().min(0).nullish();
  return z.object({
    name: z.string().min(1),
    type: z.enum(['chat', 'embedding', 'reranker']).optional(),
    real_name: z.string().nullish(),
    max_input_tokens: count,
    max_output_tokens: count,
    input_price: price,
    output_price: price,
    cached_price: price,
    supports_vision: z.boolean().nullish(),
    supports_function_calling: z.boolean().nullish(),
    default_chunk_size: count,
    max_batch_size: count,
  });
});
const fileSchema = onFirstUse(() => {
  const providers = z.array(z.object({ provider: z.string(), models: z.array(modelSchema()) }));
  return z.union([providers, z.object({ list: providers.default([]) })]);
});

/** The known models by provider, in the order of the file. */
export type Catalogue = ReadonlyMap<string, readonly ModelData[]>;

/** Parses `models-override.yaml`. As `--sync-models` writes it, the list is under `list`. */
export function parseCatalogue(text: string, path: string): Catalogue {
  const file = parseBy({ file: path, text }, fileSchema());
  const providers = Array.isArray(file) ? file : file.list;
  return new Map(providers.map(({ provider, models }) => [provider, models.map((model) => toModelData(model))]));
}

/** An override replaces only the fields it names. */
export function overrideCatalogue(base: Catalogue, override: Catalogue): Catalogue {
  const result = new Map(base);
  for (const [provider, models] of override) {
    const known = base.get(provider) ?? [];
    const changed = known.map((model) => ({ ...model, ...models.find(({ name }) => name === model.name) }));
    result.set(provider, [...changed, ...models.filter(({ name }) => !known.some((model) => model.name === name))]);
  }
  return result;
}

/** A `models` entry of a client, completed from the catalogue. */
export function toModelData(entry: unknown, known?: ModelData): ModelData {
  const model = modelSchema().parse(entry);
  const given = Object.entries(model).filter(([, value]) => value !== null && value !== undefined);
  return { type: 'chat', ...known, name: model.name, ...Object.fromEntries(given) };
}
