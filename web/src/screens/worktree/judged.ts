import { stopsMerge } from '../../../../src/protocol/stops-merge.ts';
import type { JudgedTree, WorktreeDiff, WorktreeView } from '../../../../src/protocol/worktrees.ts';
import type { ShownGate } from '../../widgets/gate-badge.tsx';

export type Gate = ShownGate & { log?: string | undefined };

/** What each gate says of the files that are shown, with what it said at length when it ran just now. */
export function gatesOf(shown: WorktreeDiff, judged: JudgedTree | undefined): readonly Gate[] | undefined {
  if (!judged || judged.tree !== shown.tree) return shown.gates;
  const said = new Map(
    judged.gates.map((gate) => [
      gate.gate,
      { ...gate, ...(gate.result !== 'not_configured' && { tree: judged.tree }) },
    ]),
  );
  return shown.gates?.map((gate): Gate => said.get(gate.gate) ?? gate);
}

export interface Standing {
  view: WorktreeView;
  /** What the person looks at. */
  shown: WorktreeDiff;
  gates: readonly Gate[] | undefined;
  /** It is no longer what is there. */
  isOld: boolean;
  isAtWork: boolean;
}

/** Those that have not said anything about exactly these files. */
export function unjudged({ gates = [], shown }: Pick<Standing, 'gates' | 'shown'>): readonly Gate[] {
  return gates.filter(
    ({ result, tree }) => result === 'not_run' || (result !== 'not_configured' && tree !== shown.tree),
  );
}

/** Why it cannot be merged now, in words; undefined when it can. */
export function whyNot({ view, shown, gates, isOld, isAtWork }: Standing): string | undefined {
  if (view.status === 'accepting' && !view.pending) return 'It is being merged already';
  if (isAtWork) return 'An agent or a run is at work in it';
  if (isOld) return 'The files have changed since you looked: show them first';
  if (shown.files.length === 0) return 'It changes nothing';
  const missing = unjudged({ gates, shown });
  if (missing.length > 0)
    return `${names(missing)} ${missing.length === 1 ? 'has' : 'have'} not judged these very files`;
  const failed = (gates ?? []).filter(stopsMerge);
  return failed.length > 0 ? `${names(failed)} failed on these files` : undefined;
}

const names = (gates: readonly Gate[]) => gates.map(({ gate }) => gate).join(', ');
