import type { InboxEntry } from '../../../src/protocol/job-operations.ts';
import { firstLine, plain } from '../format.ts';
import { jobs, runs } from '../store/home.ts';

/** Who asks, for which task, where, and everyone above. */
export function Chain({ entry }: { entry: InboxEntry }) {
  const above = entry.path.slice(0, -1);
  const isHalt = entry.runId === entry.jobId;
  return (
    <footer class="chain">
      <span>
        for <a href={isHalt ? `/runs/${entry.jobId}` : `/jobs/${entry.jobId}`}>{plain(firstLine(entry.task))}</a>
      </span>
      {entry.block && (
        <span>
          block <strong>{plain(entry.block)}</strong>
          {entry.runId && !isHalt && (
            <>
              {' of '}
              <a href={`/runs/${entry.runId}`}>its run</a>
            </>
          )}
        </span>
      )}
      {above.length > 0 && (
        <span>
          started by{' '}
          {above.map((id, at) => (
            <span key={id}>
              {at > 0 && ' › '}
              <Above id={id} />
            </span>
          ))}
        </span>
      )}
      {entry.cwd && <span class="folder">in {plain(entry.cwd)}</span>}
    </footer>
  );
}

function Above({ id }: { id: string }) {
  const job = jobs.value.find((one) => one.id === id);
  const isRun = runs.value.some(({ runId }) => runId === id);
  return <a href={isRun ? `/runs/${id}` : `/jobs/${id}`}>{job ? plain(job.agent) : id.slice(0, 10)}</a>;
}
