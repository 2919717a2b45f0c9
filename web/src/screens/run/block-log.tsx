import { useSignal } from '@preact/signals';
import { plain } from '../../format.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Refused } from '../../widgets/notice.tsx';
import type { Step } from './walk.ts';

const TITLES: Readonly<Record<string, string>> = {
  TEST_RESULT: 'What the tests said',
  BUILD_RESULT: 'What the build said',
  LINT_RESULT: 'What the linter said',
  GATE_RESULT: 'What the gate said',
  ALREADY_FAILING: 'What failed before the change, too',
  ERROR: 'What went wrong',
  EXPLANATION: 'What it said',
  RESULT: 'What it reported',
};

/** Everything that one visit left, whole. It is read when it is shown. */
export function BlockLog({ runId, step, isOpen }: { runId: string; step: Step; isOpen: boolean }) {
  const isWanted = useSignal(isOpen);
  const asked = useOperation('run_log', isWanted.value ? { id: runId } : undefined);
  const left = asked.data.value?.visits.filter(({ block, visit }) => block === step.block && visit === step.visit);
  return (
    <details
      class="part"
      open={isOpen}
      onToggle={({ currentTarget }) => {
        isWanted.value ||= currentTarget.open;
      }}
    >
      <summary>What it left</summary>
      <Refused error={asked.error.value} />
      {left?.length === 0 && <p class="hint">Nothing: no output, no result.</p>}
      {left?.map(({ type, text }, at) => (
        <figure key={at} class="left">
          <figcaption class="hint">{TITLES[type] ?? plain(type.replaceAll('_', ' ').toLowerCase())}</figcaption>
          <pre class="excerpt">{plain(text)}</pre>
        </figure>
      ))}
    </details>
  );
}
