import { z } from 'zod';
import { operation } from './operation.ts';

const text = z.string();

const baseGateSchema = z.strictObject({
  gate: text,
  command: z.array(text),
  result: z.enum(['passed', 'failed', 'not_run']),
  /** It did not run now: its verdict on these files was known. */
  reused: z.literal(true).exactOptional(),
  /** What its log names as failed. */
  failures: z.array(text).exactOptional(),
  /** The last lines of a gate that failed now. */
  log: text.exactOptional(),
});
export type BaseGate = z.infer<typeof baseGateSchema>;
const checkedBaseSchema = z.strictObject({
  commit: text,
  /** Why nothing could run: the end of the log of the set-up. */
  notSetUp: text.exactOptional(),
  gates: z.array(baseGateSchema),
});
export type CheckedBase = z.infer<typeof checkedBaseSchema>;

export const baseGates = operation({
  effect: 'acts',
  for: ['person'],
  noTool: 'a look before the first run, for people at a terminal',
  rest: { method: 'POST', path: '/v1/base-gates' },
  summary: 'Set up what is committed and run one gate on it, so that runs know what failed before them.',
  input: z.strictObject({
    cwd: z.string().min(1).max(4_096).exactOptional().describe('Checkout to look at; default: the main one'),
    base: z.string().min(1).max(1_000).exactOptional().describe('Commit; default: what is checked out'),
    gate: z.string().min(1).max(100).exactOptional().describe('Gate to run; without it only the set-up runs'),
  }),
  output: checkedBaseSchema,
});
