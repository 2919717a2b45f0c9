import type { InboxEntry } from '../../../src/protocol/job-operations.ts';
import { plain } from '../format.ts';

/** Where a question of a fleet comes from, and who has answered it already. */
export function Where({ entry }: { entry: InboxEntry }) {
  const { host, repository, answeredBy } = entry;
  if (host === undefined) return null;
  return (
    <span class="hint">
      {plain(repository ?? '')} on {plain(host)}
      {answeredBy !== undefined && `, answered by ${plain(answeredBy)}`}
    </span>
  );
}
