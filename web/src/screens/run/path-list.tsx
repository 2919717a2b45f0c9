import type { Signal } from '@preact/signals';
import { blockName, plain } from '../../format.ts';
import { Badge } from '../../widgets/badge.tsx';
import { type Chosen, isSame, type Step, sayStatus, signalName } from './walk.ts';

interface PathListProps {
  steps: readonly Step[];
  at: number;
  looked: Signal<number | undefined>;
  chosen: Chosen | undefined;
  hrefOf: (block: string, visit?: number) => string;
}

/** The same as the graph, in the order it happened. */
export function PathList({ steps, at, looked, chosen, hrefOf }: PathListProps) {
  return (
    <ol class="path">
      {steps.map((step) => (
        <li key={step.n} class={`tone-${sayStatus(step.status).tone}${step.n <= at ? '' : ' ahead'}`}>
          <a
            data-item
            href={hrefOf(step.block, step.visit)}
            aria-current={chosen?.step && isSame(chosen.step, step) ? 'true' : undefined}
            onClick={() => {
              looked.value = step.n < steps.length ? step.n : undefined;
            }}
          >
            <Line step={step} />
          </a>
        </li>
      ))}
    </ol>
  );
}

function Line({ step }: { step: Step }) {
  const { name, node } = blockName(step.block);
  const { tone, text } = sayStatus(step.status);
  const hasSaid = step.signal !== undefined && step.status !== 'skipped' && step.status !== 'halted';
  const words = hasSaid ? plain(signalName(step.signal ?? '').toLowerCase()) : text;
  const seconds = step.entry?.spent?.seconds ?? 0;
  return (
    <>
      <span class="path-name">
        <strong>{plain(name)}</strong>
        {step.visit > 1 && <span class="times">×{step.visit}</span>}
        <span class="hint">{plain(node.replaceAll('_', ' '))}</span>
        {step.branch !== 'main' && <span class="hint">in {plain(step.branch)}</span>}
      </span>
      <span class="path-end">
        {seconds >= 0.05 && <span class="hint number">{seconds.toFixed(1)} s</span>}
        <Badge tone={tone}>{words}</Badge>
      </span>
    </>
  );
}
