import { z } from 'zod';

/**
 * One model provider. Clients differ in what else they take (`organization_id`, `project_id`, …): the client itself checks
 * those, this file keeps them.
 */
export const clientSchema = z.looseObject({
  type: z.string().min(1),
  name: z.string().min(1).optional(),
  api_base: z.string().optional(),
  /** Several are a pool. */
  api_key: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  models: z.array(z.looseObject({ name: z.string().min(1) })).optional(),
  patch: z.record(z.string(), z.unknown()).optional(),
  extra: z.record(z.string(), z.unknown()).optional(),
});
export type ClientConfig = z.output<typeof clientSchema>;
