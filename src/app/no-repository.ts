import type { JobManager } from '../agents/job-manager.ts';
import { ReefError } from '../protocol/errors.ts';
import { type Core, operations } from '../protocol/operations.ts';
import { bindMethods } from './bind-methods.ts';

const NO_REPOSITORY = new ReefError('not_a_repository', 'This home belongs to no repository.');

/** Without a repository jobs are served; every other operation says why it is not. */
export function withoutRepository(jobs: JobManager, reason = NO_REPOSITORY): Core {
  const refuse = () => Promise.reject(new ReefError(reason.code, reason.message, { cause: reason }));
  const refusing = Object.fromEntries(Object.keys(operations).map((name) => [name, refuse])) as unknown as Core;
  const served = bindMethods(jobs, 'spawn', 'status', 'send', 'output', 'kill', 'wait', 'interrupt', 'resume', 'inbox');
  return { ...refusing, ...served };
}
