import { ReefError } from '../protocol/errors.ts';
import { type OperationName, type OperationRequest, operations } from '../protocol/operations.ts';

export function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

/** The one strict reading of a caller's input: unknown keys are refused, and the message names each wrong field. */
export function parseInput<N extends OperationName>(operation: N, input: unknown): OperationRequest<N> {
  const parsed = operations[operation].input.safeParse(input);
  if (parsed.success) return parsed.data as OperationRequest<N>;
  const fields = parsed.error.issues.map((issue) => ({ field: issue.path.join('.'), message: issue.message }));
  const sentence = fields.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join('; ');
  throw new ReefError('bad_request', `${operation}: ${sentence}`, { details: { fields } });
}
