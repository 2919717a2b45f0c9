import { ReefError, toReefError } from '../protocol/errors.ts';
import { type Core, operations } from '../protocol/operations.ts';
import { bound } from './bound.ts';
import { openWorkspace, type Workspace, type WorkspaceParts } from './workspace.ts';

/**
 * Where there is no repository, or git cannot work on it, jobs are served all the same and the rest says why it is not: a
 * daemon that refused to start would hold up everything else.
 */
export async function openWorkspaceOrSay(
  repository: string | undefined,
  parts: Omit<WorkspaceParts, 'repository'>,
): Promise<Workspace> {
  try {
    if (repository === undefined) throw new ReefError('not_a_repository', 'This home belongs to no repository.');
    return await openWorkspace({ ...parts, repository });
  } catch (error) {
    const reason = toReefError(error);
    if (repository !== undefined) parts.log.warn('worktrees and runs are not served', { reason: reason.message });
    return withoutWorkspace(parts, reason);
  }
}

function withoutWorkspace({ jobs }: Pick<WorkspaceParts, 'jobs'>, reason: ReefError): Workspace {
  const refuse = () => Promise.reject(new ReefError(reason.code, reason.message, { cause: reason }));
  const refusing = Object.fromEntries(Object.keys(operations).map((name) => [name, refuse])) as unknown as Core;
  const served = bound(jobs, 'spawn', 'status', 'send', 'output', 'kill', 'wait', 'interrupt', 'resume', 'inbox');
  return {
    core: { ...refusing, ...served },
    folderOf: () => undefined,
    briefOf: () => Promise.resolve(''),
    jobsChanged: () => {},
    endRuns: () => Promise.resolve(),
    activeRuns: () => 0,
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
