import type { Signal } from '@preact/signals';
import { blockName, plain } from '../../format.ts';
import { Button } from '../../widgets/button.tsx';
import { type Step, sayStatus } from './walk.ts';

interface ScrubberProps {
  steps: readonly Step[];
  at: number;
  looked: Signal<number | undefined>;
}

/** Walks the way that was taken, step by step. At its end it follows the run. */
export function Scrubber({ steps, at, looked }: ScrubberProps) {
  if (steps.length === 0) return null;
  const step = steps[at - 1];
  const words = step ? `${plain(blockName(step.block).name)}, visit ${step.visit}` : '';
  const go = (to: number) => {
    looked.value = to >= steps.length ? undefined : Math.max(1, to);
  };
  return (
    <div class="scrubber">
      <Button
        kind="quiet"
        icon="back"
        label="One step back"
        offBecause={at <= 1 ? 'This is the first step' : undefined}
        onClick={() => go(at - 1)}
      />
      <div class="scrubber-track">
        <div class="scrubber-steps" aria-hidden="true">
          {steps.map(({ n, status }) => (
            <span key={n} class={`tone-${sayStatus(status).tone}${n <= at ? ' lit' : ''}`} />
          ))}
        </div>
        <input
          type="range"
          aria-label="Step of the way"
          aria-valuetext={`Step ${at} of ${steps.length}: ${words}`}
          min={1}
          max={steps.length}
          step={1}
          value={at}
          onInput={({ currentTarget }) => go(Number(currentTarget.value))}
        />
      </div>
      <Button
        kind="quiet"
        icon="arrow"
        label="One step on"
        offBecause={at >= steps.length ? 'This is the newest step' : undefined}
        onClick={() => go(at + 1)}
      />
      <p class="hint scrubber-words">
        {at < steps.length ? `Step ${at} of ${steps.length}` : `All ${steps.length}`}
        {looked.value !== undefined && (
          <button
            type="button"
            class="link"
            onClick={() => {
              looked.value = undefined;
            }}
          >
            to now
          </button>
        )}
      </p>
    </div>
  );
}
