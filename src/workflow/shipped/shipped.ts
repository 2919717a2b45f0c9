import { readFileSync } from 'node:fs';

export const SHIPPED = ['test-fix', 'full-gates'] as const;
export type ShippedName = (typeof SHIPPED)[number];

/** For a project without a workflow of its own. */
export const DEFAULT_SHIPPED: ShippedName = 'full-gates';

export function shippedWorkflow(name: ShippedName): { path: string; text: string } {
  const path = `${name}.yaml`;
  return { path, text: readFileSync(new URL(path, import.meta.url), 'utf8') };
}
