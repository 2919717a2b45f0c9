import type { InboxEntry } from '../../../src/protocol/job-operations.ts';
import { blockName, firstLine, plain } from '../format.ts';
import { jobs, runs } from '../store/home.ts';
import { WorktreeLink } from '../widgets/worktree-name.tsx';

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
          block <strong>{plain(blockName(entry.block).name)}</strong>
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
      <Place entry={entry} />
    </footer>
  );
}

/** A worktree has a screen; only another folder has to be named. */
function Place({ entry: { jobId, runId, task, cwd } }: { entry: InboxEntry }) {
  const worktree =
    jobs.value.find(({ id }) => id === jobId)?.worktree ?? runs.value.find((run) => run.runId === runId)?.worktree;
  if (worktree) return <WorktreeLink id={worktree} task={task} />;
  return cwd ? <span class="folder">in {plain(cwd)}</span> : null;
}

function Above({ id }: { id: string }) {
  const job = jobs.value.find((one) => one.id === id);
  const isRun = runs.value.some(({ runId }) => runId === id);
  return <a href={isRun ? `/runs/${id}` : `/jobs/${id}`}>{job ? plain(job.agent) : id.slice(0, 10)}</a>;
}
