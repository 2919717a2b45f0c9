import { useSignal } from '@preact/signals';
import type { OperationOutput } from '../../../../src/protocol/operations.ts';
import type { JudgedTree } from '../../../../src/protocol/worktrees.ts';
import { op, Refusal } from '../../connection/op.ts';
import { plain } from '../../format.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { GateBadge } from '../../widgets/gate-badge.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Section } from '../../widgets/page.tsx';
import { Sure } from '../../widgets/sure.tsx';
import { type Gate, gatesOf, type Standing, unjudged, whyNot } from './judged.ts';

interface MergePanelProps extends Omit<Standing, 'gates'> {
  /** Asks for the present files once more. */
  again: () => void;
}

/** What the gates say of exactly the files that are shown, and the way into the target. */
export function MergePanel({ again, ...looked }: MergePanelProps) {
  const { view, shown } = looked;
  const judged = useSignal<JudgedTree | undefined>(undefined);
  const judging = useAct();
  const updating = useAct();
  const brought = useSignal<OperationOutput<'worktree_update'> | undefined>(undefined);
  const gates = gatesOf(shown, judged.value);
  const reason = whyNot({ ...looked, gates });
  const { id } = view;
  const judge = async () => {
    const ask = async () => {
      judged.value = await op('worktree_gates', { id });
    };
    if (await judging.act(ask)) again();
  };
  const { accept, agree, isBusy, refused } = useAccept(id, shown.tree);
  const update = async () => {
    const ask = async () => {
      brought.value = await op('worktree_update', { id });
    };
    if (await updating.act(ask)) again();
  };
  const isNeeded = gates !== undefined && unjudged({ gates, shown }).length > 0;
  const hasFailed = gates?.some(({ result }) => result === 'failed') ?? false;
  const target = view.base.branch || 'its target';
  return (
    <Section title="Gates" hint={<Present tree={shown.tree} />}>
      <Verdicts gates={gates} tree={shown.tree} />
      <div class="actions">
        <Button
          kind={reason === undefined ? 'main' : 'plain'}
          icon="check"
          acts
          isBusy={isBusy.value}
          offBecause={reason}
          onClick={() => void accept({})}
        >
          Accept into {plain(target)}
        </Button>
        {view.pending && !view.pending.whenClean && (
          <Button acts isBusy={isBusy.value} offBecause={reason} onClick={() => void accept({ whenClean: true })}>
            Merge as soon as that is clean
          </Button>
        )}
        {gates && (isNeeded || hasFailed) && (
          <Button
            kind={isNeeded ? 'main' : 'plain'}
            icon="play"
            acts
            isBusy={judging.isBusy.value}
            offBecause={looked.isAtWork ? 'An agent or a run is at work in it' : undefined}
            onClick={() => void judge()}
          >
            {judging.isBusy.value ? 'The gates run…' : 'Run the gates'}
          </Button>
        )}
        <Button
          kind="quiet"
          acts
          isBusy={updating.isBusy.value}
          offBecause={looked.isAtWork ? 'An agent or a run is at work in it' : undefined}
          onClick={() => void update()}
        >
          Bring {plain(target)} in
        </Button>
      </div>
      {reason !== undefined && (
        <p class="hint" role="status">
          Not to be merged yet: {plain(reason)}.
        </p>
      )}
      <Refused error={judging.refused.value} />
      <Consent error={refused.value} accept={() => void agree()} />
      <Refused error={updating.refused.value} />
      <Brought updated={brought.value} />
    </Section>
  );
}

/** Merges exactly the tree that is shown. What a person has agreed to for it once is agreed to. */
function useAccept(id: string, tree: string | undefined) {
  const { act, refused, isBusy } = useAct();
  const agreed = useSignal<string | undefined>(undefined);
  const wanted = useSignal<{ whenClean?: true }>({});
  const accept = (more: { whenClean?: true }) => {
    wanted.value = more;
    const yes = tree !== undefined && agreed.value === tree;
    return act(() => op('accept', { id, yes, ...more, ...(tree !== undefined && { tree }) }));
  };
  const agree = () => {
    agreed.value = tree;
    return accept(wanted.value);
  };
  return { accept, agree, refused, isBusy };
}

function Present({ tree }: { tree: string | undefined }) {
  if (tree === undefined) return null;
  return (
    <>
      You look at tree <code>{tree.slice(0, 8)}</code>. Exactly that is merged, or nothing.
    </>
  );
}

function Verdicts({ gates, tree }: { gates: readonly Gate[] | undefined; tree: string | undefined }) {
  if (!gates) {
    return (
      <p class="notice tone-waits">
        No gate has judged these files: this repository is not trusted. <code>reef trust</code> shows what would run.
      </p>
    );
  }
  const isNone = gates.every(({ result }) => result === 'not_configured');
  return (
    <>
      <div class="gates">
        {gates.map((gate) => (
          <GateBadge key={gate.gate} gate={gate} now={tree} />
        ))}
      </div>
      {isNone && (
        <p class="hint">
          Nothing judges what is merged: name the gates with <code>reef init</code>.
        </p>
      )}
      {gates.map(
        ({ gate, log }) =>
          log !== undefined && (
            <details key={gate} class="part" open>
              <summary>What {plain(gate)} said</summary>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
              <section aria-label={`Output of ${plain(gate)}`} class="gate-log" tabIndex={0}>
                <pre>{plain(log)}</pre>
              </section>
            </details>
          ),
      )}
    </>
  );
}

/** What a person has to agree to is listed before it is merged. */
function Consent({ error, accept }: { error: unknown; accept: () => void }) {
  if (!(error instanceof Refusal) || error.code !== 'accept_needs_consent') return <Refused error={error} />;
  return (
    <div class="notice tone-waits" role="alert">
      <p>{plain(error.message)}</p>
      <Sure label="Accept all of that" sure="Merge it so?" onClick={accept} />
    </div>
  );
}

function Brought({ updated }: { updated: OperationOutput<'worktree_update'> | undefined }) {
  if (!updated) return null;
  const { status, target, files } = updated;
  const words = {
    current: `It has everything of ${target} already.`,
    updated: `${target} was brought in.`,
    conflict: `Both sides changed ${files.join(', ')}: the places are marked, and the agent or you can mend them.`,
  };
  return (
    <p class={`notice tone-${status === 'conflict' ? 'waits' : 'good'}`} role="status">
      {plain(words[status])}
    </p>
  );
}
