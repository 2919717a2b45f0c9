import type { ErrorBody } from '../../../src/protocol/errors.ts';
import type { OperationInput, OperationName, OperationOutput } from '../../../src/protocol/operations.ts';
import { connection } from './connection.ts';

/** What the daemon refused, in its own words: a stable code, what happened, and what to type next. */
export class Refusal extends Error {
  readonly code: string;
  readonly hint: string;
  readonly details: Record<string, unknown>;

  constructor({ code, message, hint, details }: ErrorBody['error']) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.hint = hint;
    this.details = details ?? {};
  }
}

/** Calls an operation of `src/protocol/operations.ts`. Throws a `Refusal`, or another error when there is no connection. */
export async function op<N extends OperationName>(
  name: N,
  input: OperationInput<N>,
  signal?: AbortSignal,
): Promise<OperationOutput<N>> {
  const response = await connection.request(`/v1/op/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
    ...(signal && { signal }),
  });
  const body: unknown = await response.json();
  if (!response.ok) throw new Refusal((body as ErrorBody).error);
  return body as OperationOutput<N>;
}

/** What to show of anything that was thrown. */
export function explain(error: unknown): { message: string; hint?: string } {
  if (error instanceof Refusal) return { message: error.message, hint: error.hint };
  return { message: error instanceof Error ? error.message : String(error) };
}
