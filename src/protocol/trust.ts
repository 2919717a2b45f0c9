import { z } from 'zod';
import { operation } from './operation.ts';

/** What a repository would make Reef run. Nothing of it takes effect before a person agrees. */
const trustItemSchema = z.strictObject({
  /** Such as `.reef/workflows.yaml` or `package.json scripts`. */
  name: z.string(),
  content: z.string(),
  hash: z.string(),
  trusted: z.boolean(),
});
export type TrustItem = z.infer<typeof trustItemSchema>;

export const trustOperations = {
  trust: operation({
    effect: 'settles',
    for: ['person'],
    noTool: 'only a person at a terminal trusts a repository',
    rest: { method: 'POST', path: '/v1/trust' },
    summary: 'Show what this repository wants Reef to run; with hashes, trust exactly these items.',
    input: z.strictObject({ hashes: z.array(z.string().max(100)).max(1000).default([]) }),
    output: z.strictObject({ repository: z.string(), items: z.array(trustItemSchema) }),
  }),
};
