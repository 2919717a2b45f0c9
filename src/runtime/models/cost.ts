import type { ModelData, Usage } from './client.ts';

const MILLION = 1_000_000;

/** Dollars. What has no price has no cost: never 0, which would say that it is free. */
export function costOf(model: Readonly<ModelData>, usage: Usage): number | null {
  const { input_price, output_price, cached_price = input_price } = model;
  if (input_price === undefined || cached_price === undefined) return null;
  if (output_price === undefined && usage.output > 0) return null;
  const fresh = usage.input - usage.cached;
  return (fresh * input_price + usage.cached * cached_price + usage.output * (output_price ?? 0)) / MILLION;
}
