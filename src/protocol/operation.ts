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

/** Its own address over HTTP. A `:name` in the path is a field of the input; `GET` only where it reads. */
export interface Rest {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
}

interface Row<I extends z.ZodType, O extends z.ZodType> {
  summary: string;
  effect: OperationEffect;
  /** Default: all. */
  for?: readonly User[];
  /** Why it is no MCP tool; absent when it is one. */
  noTool?: string;
  input: I;
  output: O;
}

/** With an address of its own, or why it has none. Each one is `POST /v1/op/<name>` besides. */
type Addressed = { rest: Rest; noRest?: never } | { rest?: never; noRest: string };

export type Operation<I extends z.ZodType = z.ZodType, O extends z.ZodType = z.ZodType> = Row<I, O> & Addressed;

/** Keeps the types of a row. */
export function operation<I extends z.ZodType, O extends z.ZodType>(row: Operation<I, O>): Operation<I, O> {
  return row;
}

export function mayUse({ for: users }: Pick<Operation, 'for'>, who: User): boolean {
  return users?.includes(who) ?? true;
}
