import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import { op } from '../../connection/op.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Sure } from '../../widgets/sure.tsx';

const OPEN: ReadonlySet<RunSummary['status']> = new Set(['queued', 'running', 'awaiting_input', 'halted']);

/** What can be done to the run as a whole. */
export function RunActions({ run }: { run: RunSummary }) {
  const { act, refused, isBusy } = useAct();
  const control = (verb: 'abort' | 'hold') => () => void act(() => op('run_control', { id: run.runId, verb }));
  const isOpen = OPEN.has(run.status);
  return (
    <>
      {run.path !== null && (
        <a class="button" href={`/worktrees/${run.worktree}`}>
          What it changed
        </a>
      )}
      {isOpen && run.path !== null && (
        <Button icon="pause" acts isBusy={isBusy.value} onClick={control('hold')}>
          Hold
        </Button>
      )}
      {isOpen && <Sure icon="stop" label="Abort" sure="Abort the run?" onClick={control('abort')} />}
      <Refused error={refused.value} />
    </>
  );
}
