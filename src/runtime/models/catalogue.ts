import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { parseBy } from '../config/settings-file.ts';
import type { ModelData } from './client.ts';

/** Keys of other programs that read the same file are left alone. */
const modelSchema = onFirstUse(() => {
  const count = z.number().int().min(1).nullish();
  const price = z.number().min(0).nullish();
  return z.looseObject({
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
  const providers = z.array(z.looseObject({ provider: z.string(), models: z.array(modelSchema()) }));
  return z.union([providers, z.looseObject({ list: providers.default([]) })]);
});

const KEYS = [
  'real_name',
  'max_input_tokens',
  'max_output_tokens',
  'input_price',
  'output_price',
  'cached_price',
  'supports_vision',
  'supports_function_calling',
  'default_chunk_size',
  'max_batch_size',
] as const;

/** What is known of models, by provider, in the order of the file. */
export type Catalogue = ReadonlyMap<string, readonly ModelData[]>;

/** `models-override.yaml`, which may stand under `list` as `--sync-models` writes it. */
export function parseCatalogue(text: string, path: string): Catalogue {
  const file = parseBy({ file: path, text }, fileSchema());
  const providers = Array.isArray(file) ? file : file.list;
  return new Map(providers.map(({ provider, models }) => [provider, models.map((model) => toModelData(model))]));
}

/** Entry by entry, field by field: what the override does not say stays. */
export function overrideCatalogue(base: Catalogue, override: Catalogue): Catalogue {
  const result = new Map(base);
  for (const [provider, models] of override) {
    const known = base.get(provider) ?? [];
    const changed = known.map((model) => ({ ...model, ...models.find(({ name }) => name === model.name) }));
    result.set(provider, [...changed, ...models.filter(({ name }) => !known.some((model) => model.name === name))]);
  }
  return result;
}

/** A `models` entry of a client, completed by what the catalogue knows under its name. */
export function toModelData(entry: unknown, known?: ModelData): ModelData {
  const model = modelSchema().parse(entry);
  const given = KEYS.flatMap((key) => (model[key] === null || model[key] === undefined ? [] : [[key, model[key]]]));
  return { ...known, name: model.name, type: model.type ?? known?.type ?? 'chat', ...Object.fromEntries(given) };
}
