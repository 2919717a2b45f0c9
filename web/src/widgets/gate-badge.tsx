import type { ComparedFailures } from '../../../src/protocol/workflow.ts';
import { plain } from '../format.ts';
import { Badge, type Tone } from './badge.tsx';

export interface ShownGate {
  gate: string;
  result: 'passed' | 'failed' | 'waived' | 'not_run' | 'not_configured';
  blocks?: false | undefined;
  reused?: true | undefined;
  compared?: ComparedFailures | undefined;
  /** The files it judged. */
  tree?: string | undefined;
}

const TONES: Record<ShownGate['result'], Tone> = {
  passed: 'good',
  failed: 'bad',
  waived: 'waits',
  not_run: 'waits',
  not_configured: 'calm',
};

/** What a gate said, and of which files: with `now`, whether those are the present ones. */
export function GateBadge({ gate, now }: { gate: ShownGate; now?: string | undefined }) {
  const { result, tree, compared } = gate;
  const isOld = now !== undefined && tree !== undefined && tree !== now;
  const notes = [
    ...(gate.blocks === false ? ['does not block'] : []),
    ...(gate.reused ? ['passed before on the same files'] : []),
    ...(compared && compared.fresh.length > 0 ? [`new: ${compared.fresh.slice(0, 3).join(', ')}`] : []),
    ...(compared && compared.already.length > 0
      ? [`failed before, too: ${compared.already.slice(0, 3).join(', ')}`]
      : []),
  ];
  return (
    <span class={`gate${isOld ? ' is-old' : ''}`}>
      <Badge tone={isOld ? 'calm' : TONES[result]}>
        {plain(gate.gate)} {result.replace('_', ' ')}
      </Badge>
      {tree !== undefined && (
        <span class="hint">
          {isOld ? 'of other files, tree ' : 'tree '}
          <code>{tree.slice(0, 8)}</code>
        </span>
      )}
      {notes.length > 0 && <span class="hint">{plain(notes.join('; '))}</span>}
    </span>
  );
}
