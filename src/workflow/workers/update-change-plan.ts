import { whyUnsafe } from '../../base/safe-path.ts';
import type { Json } from '../../protocol/workflow.ts';
import { SUCCESS } from '../language/names.ts';
import { makeSegments, type Worker } from './worker.ts';

/** The part of the worktree manager that a workflow calls. */
export interface ChangePlans {
  addToChangePlan(newFiles: string[], worktreeId: string): Promise<unknown>;
}

/** `Internal:UpdateChangePlan` adds files that a block must change to the plan; it always succeeds. */
export function updateChangePlan({ worktrees }: { worktrees: ChangePlans }): Worker {
  return async (input, context) => {
    const segments = input.execution_payload.filter(
      ({ type, id }) => type === 'NEW_FILES_IDENTIFIED' && !context.isApplied(id),
    );
    const named = segments.flatMap(({ content }) => (Array.isArray(content) ? content : [content]));
    const newFiles = named.filter((path) => whyRefused(path) === undefined) as string[];
    await worktrees.addToChangePlan(newFiles, input.system_metadata.worktree_id);
    const refused = named.flatMap((path) => {
      const why = whyRefused(path);
      return why === undefined ? [] : [{ path, why }];
    });
    const error = { code: 'path_outside_worktree', message: 'Some paths cannot be planned.', refused };
    const told = refused.length === 0 ? [] : [{ type: 'ERROR', content: error }];
    return {
      signal: SUCCESS,
      new_payload: [...input.execution_payload, ...makeSegments(input.system_metadata, context, told)],
      applied: segments.map(({ id }) => id),
    };
  };
}

function whyRefused(path: Json): string | undefined {
  if (typeof path !== 'string' || path === '') return 'is not a path';
  return whyUnsafe(path);
}
