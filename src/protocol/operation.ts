import type { z } from 'zod';

/** `reads` changes nothing, `settles` may be repeated, `acts` starts an agent or command, `ends` takes something away. */
export type OperationEffect = 'reads' | 'settles' | 'acts' | 'ends';

/**
 * Who calls. A person shows the credential of the home, as the command line does; an MCP client shows none; an agent calls
 * through the socket of its job.
 */
export type User = 'person' | 'client' | 'job';

/** For rows that are no business of an agent. */
export const PEOPLE_AND_CLIENTS: readonly User[] = ['person', 'client'];

export interface Operation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> {
  summary: string;
  effect: OperationEffect;
  /** Default: all. */
  for?: readonly User[];
  /** Why it is no MCP tool; absent when it is one. */
  noTool?: string;
  input: I;
  output: O;
}

/** Keeps the types of a row. */
export function operation<I extends z.ZodType, O extends z.ZodType>(row: Operation<I, O>): Operation<I, O> {
  return row;
}

export function mayUse({ for: users }: Pick<Operation, 'for'>, who: User): boolean {
  return users?.includes(who) ?? true;
}
