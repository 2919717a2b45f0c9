import { useEffect } from 'preact/hooks';
import type { AgentEvent } from '../../../../src/protocol/events.ts';
import type { OperationOutput } from '../../../../src/protocol/operations.ts';
import { connection } from '../../connection/connection.ts';
import { refresher } from '../../store/refresher.ts';
import { type Asked, useOperation } from '../../store/use-operation.ts';

/** After these files may be others. */
const WRITES: ReadonlySet<AgentEvent['type']> = new Set(['tool_call', 'file_edit', 'completed']);
const CALM_LOOK_MS = 1_000;

/** All worktrees, those that have ended included. Being asked, the daemon looks at their files again, and says when they are others. */
export function useWorktrees(): Asked<OperationOutput<'worktrees'>> {
  const asked = useOperation('worktrees', { all: true }, ({ kind }) => kind === 'worktree');
  useEffect(() => {
    const look = refresher(async () => asked.again(), CALM_LOOK_MS);
    const stop = connection.onEvent(({ type }) => WRITES.has(type) && look.soon());
    // Somebody comes back from an editor, maybe.
    addEventListener('focus', look.soon);
    return () => {
      stop();
      removeEventListener('focus', look.soon);
    };
  }, []);
  return asked;
}
