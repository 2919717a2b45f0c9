import { type Signal, useSignal } from '@preact/signals';
import type { OperationOutput } from '../../../../src/protocol/operations.ts';
import type { Clash, WorktreeView } from '../../../../src/protocol/worktrees.ts';
import { plain, plural } from '../../format.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Badge } from '../../widgets/badge.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { lineWords, nameIn, TIERS } from './words.ts';

type Looked = OperationOutput<'conflicts'>['worktrees'];

/** Every worktree against every other: which lines and files they share. */
export function Radar({ all }: { all: readonly WorktreeView[] }) {
  const asked = useOperation('conflicts', {}, ({ kind }) => kind === 'worktree');
  const chosen = useSignal<readonly [string, string] | undefined>(undefined);
  const found = asked.data.value;
  if (!found) return asked.error.value === undefined ? <Looking /> : <Refused error={asked.error.value} />;
  const { worktrees, report } = found;
  if (worktrees.length === 0) return <p class="hint">No worktree is open, so nothing can get in the way of another.</p>;
  return (
    <div class="radar">
      <Refused error={asked.error.value} />
      <Matrix worktrees={worktrees} all={all} chosen={chosen} />
      <Legend />
      {!report.complete && (
        <p class="notice tone-waits">
          Not all could be found out: {plain((report.problems ?? ['there is no code index']).join('; '))}
        </p>
      )}
      <Pair worktrees={worktrees} all={all} pair={chosen.value} />
    </div>
  );
}

function Looking() {
  return (
    <p class="hint" role="status">
      Comparing every worktree with every other…
    </p>
  );
}

interface MatrixProps {
  worktrees: Looked;
  all: readonly WorktreeView[];
  chosen: Signal<readonly [string, string] | undefined>;
}

function Matrix({ worktrees, all, chosen }: MatrixProps) {
  const own = worktrees.map(({ id }) => id);
  // Checkouts that are not Reef's are compared with, too, but not with each other.
  const others = worktrees.flatMap(({ clashes }) => clashes.map(({ worktreeId }) => worktreeId));
  const columns = [...new Set([...own, ...others])];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="matrix" aria-label="Overlaps" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Worktree</th>
            {columns.map((id, at) => (
              <th key={id} scope="col" title={nameIn(all, id)}>
                {at + 1}
                <span class="unseen"> {nameIn(all, id)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {columns.map((id, at) => (
            <tr key={id}>
              <th scope="row">
                <span class="number">{at + 1}</span>{' '}
                {own.includes(id) ? <a href={`/worktrees/${id}`}>{nameIn(all, id)}</a> : nameIn(all, id)}
              </th>
              {columns.map((other) => (
                <td key={other}>
                  <Cell one={id} other={other} found={between(worktrees, id, other)} all={all} chosen={chosen} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const RANKS: readonly Clash['tier'][] = ['hot', 'soft', 'hop', 'unknown'];

/** What one was told of the other; a checkout that is not Reef's is told of nobody. */
function between(worktrees: Looked, one: string, other: string): readonly Clash[] {
  const of = (id: string, with_: string) =>
    worktrees.find((each) => each.id === id)?.clashes.filter(({ worktreeId }) => worktreeId === with_) ?? [];
  const found = of(one, other);
  return (found.length > 0 ? found : of(other, one)).toSorted((a, b) => RANKS.indexOf(a.tier) - RANKS.indexOf(b.tier));
}

interface CellProps extends Pick<MatrixProps, 'all' | 'chosen'> {
  one: string;
  other: string;
  found: readonly Clash[];
}

function Cell({ one, other, found, all, chosen }: CellProps) {
  if (one === other) return <span aria-hidden="true">·</span>;
  const [worst] = found;
  if (!worst) return <span class="unseen">nothing</span>;
  const files = found.reduce((sum, clash) => sum + clash.files.length, 0);
  const isChosen = chosen.value?.[0] === one && chosen.value[1] === other;
  return (
    <button
      type="button"
      class={`cell tone-${TIERS[worst.tier].tone}`}
      aria-pressed={isChosen}
      aria-label={`${worst.tier}: ${nameIn(all, one)} and ${nameIn(all, other)}, ${plural(files, 'file')}`}
      onClick={() => {
        chosen.value = isChosen ? undefined : [one, other];
      }}
    >
      {worst.tier === 'unknown' ? '?' : worst.tier}
      {files > 0 && <span class="number">{files}</span>}
    </button>
  );
}

function Legend() {
  return (
    <ul class="tiers" aria-label="What the words mean">
      {RANKS.map((tier) => (
        <li key={tier}>
          <Badge tone={TIERS[tier].tone}>{tier === 'unknown' ? '?' : tier}</Badge>{' '}
          <span class="hint">{TIERS[tier].text}</span>
        </li>
      ))}
    </ul>
  );
}

function Pair({ worktrees, all, pair }: Omit<MatrixProps, 'chosen'> & { pair: readonly [string, string] | undefined }) {
  const clashes = pair ? between(worktrees, ...pair) : [];
  if (!pair || clashes.length === 0) return <p class="hint">Choose a cell to see the files and lines.</p>;
  return (
    <section aria-label="Shared files">
      <h2>
        {nameIn(all, pair[0])} and {nameIn(all, pair[1])}
      </h2>
      <Clashes clashes={clashes} />
    </section>
  );
}

/** The files and lines of overlaps; `all` names the other side. */
export function Clashes({ clashes, all }: { clashes: readonly Clash[]; all?: readonly WorktreeView[] }) {
  return (
    <ul class="clashes">
      {clashes.map(({ tier, worktreeId, files }) => (
        <li key={`${tier} ${worktreeId}`}>
          <p>
            <Badge tone={TIERS[tier].tone}>{tier}</Badge> <strong>{TIERS[tier].text}</strong>
            {all && (
              <>
                {' as '}
                {all.some(({ id }) => id === worktreeId) ? (
                  <a href={`/worktrees/${worktreeId}`}>{nameIn(all, worktreeId)}</a>
                ) : (
                  <code>{plain(worktreeId)}</code>
                )}
              </>
            )}
          </p>
          <ul>
            {files.map(({ path, lines }) => (
              <li key={path}>
                <code>{plain(path)}</code>
                {lines && lines.length > 0 && <span class="hint"> lines {lineWords(lines)}</span>}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
