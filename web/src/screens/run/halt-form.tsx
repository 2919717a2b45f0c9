import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import type { Halt, HaltVerb } from '../../../../src/protocol/workflow.ts';
import { op } from '../../connection/op.ts';
import { draft } from '../../store/drafts.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Sure } from '../../widgets/sure.tsx';

const VERBS: Record<Exclude<HaltVerb, 'abort'>, { label: string; withGuidance: string; does: string }> = {
  approve: { label: 'Approve', withGuidance: 'Approve with guidance', does: 'let it do this block' },
  resume: { label: 'Go on', withGuidance: 'Go on with guidance', does: 'hand it to the next block' },
  retry: { label: 'Retry', withGuidance: 'Retry with guidance', does: 'do this block once more' },
  skip: { label: 'Skip', withGuidance: 'Skip', does: 'as if it had succeeded' },
};

/** The ways on from a halt, with what the next agent should know. It names its visit, so it can only answer what is shown. */
export function HaltForm({ run, halt }: { run: RunSummary; halt: Halt }) {
  const guidance = draft(`guidance ${run.runId} ${halt.block} ${halt.visit}`);
  const { act, refused, isBusy } = useAct();
  const { block, visit, branch } = halt;
  const answer = async (verb: HaltVerb) => {
    const said = guidance.value.trim();
    const at = { block, visit, branch, ...(said && { guidance: said }) };
    if (await act(() => op('run_control', { id: run.runId, verb, ...at }))) guidance.value = '';
  };
  const [first, ...others] = halt.options.filter((verb) => verb !== 'abort');
  const button = (verb: Exclude<HaltVerb, 'abort'>) => (
    <Button
      key={verb}
      kind={verb === first ? 'main' : 'plain'}
      acts
      isBusy={isBusy.value}
      onClick={() => void answer(verb)}
    >
      {guidance.value.trim() ? VERBS[verb].withGuidance : VERBS[verb].label}
    </Button>
  );
  return (
    <div class="halt-form">
      <textarea
        rows={2}
        aria-label="What the next agent should know"
        placeholder="What the next agent should know, if anything"
        value={guidance.value}
        onInput={({ currentTarget }) => {
          guidance.value = currentTarget.value;
        }}
      />
      <div class="actions">
        {first && button(first)}
        {others.map(button)}
        {halt.options.includes('abort') && (
          <Sure label="Abort" sure="Abort the run?" onClick={() => void answer('abort')} />
        )}
      </div>
      <p class="hint">
        {[first, ...others].flatMap((verb) => (verb ? [`${VERBS[verb].label}: ${VERBS[verb].does}`] : [])).join(' · ')}
      </p>
      <Refused error={refused.value} />
    </div>
  );
}
