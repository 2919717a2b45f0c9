import { explain } from '../connection/op.ts';

/** What was refused, and what to do next; spoken when it appears. */
export function Refused({ error }: { error: unknown }) {
  if (error === undefined) return null;
  const { message, hint } = explain(error);
  return (
    <p class="notice tone-bad" role="alert">
      <strong>{message}</strong> {hint}
    </p>
  );
}
