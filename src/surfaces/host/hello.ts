import { z } from 'zod';

/** Who a job is, as its own process tells the host that runs it. */
export const helloSchema = z.strictObject({
  agent: z.string().min(1).max(128),
  jobId: z.string().min(1),
  parentId: z.string().min(1).optional(),
  depth: z.number().int().nonnegative(),
  cwd: z.string(),
  /** The job's own door to the daemon. */
  door: z.string(),
  sessionId: z.string(),
  model: z.string().optional(),
  /** It waits for a next message when its turn is over. */
  keep: z.boolean(),
});
export type Hello = z.infer<typeof helloSchema>;
