import type { z } from 'zod';

/** `reads` changes nothing, `settles` may be repeated, `acts` starts an agent or command, `ends` takes something away. */
export type OperationEffect = 'reads' | 'settles' | 'acts' | 'ends';

/** Who may call. An agent calls through the socket of its job. */
type OperationUser = 'anyone' | 'people' | 'jobs';

export interface Operation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  summary: string;
  effect: OperationEffect;
  /** Default: anyone. */
  for?: OperationUser;
  /** Why it is no MCP tool; absent when it is one. */
  noTool?: string;
  input: I;
  output: O;
}

/** Keeps the types of a row. */
export function operation<I extends z.ZodType, O extends z.ZodType>(row: Operation<I, O>): Operation<I, O> {
  return row;
}

export function mayUse({ for: user = 'anyone' }: Pick<Operation, 'for'>, who: 'people' | 'jobs'): boolean {
  return user === 'anyone' || user === who;
}
