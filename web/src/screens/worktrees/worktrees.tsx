import { useSignal } from '@preact/signals';
import type { PendingMerge, WorktreeView } from '../../../../src/protocol/worktrees.ts';
import { firstLine, plain, plural } from '../../format.ts';
import { query } from '../../router.ts';
import { worktrees } from '../../store/home.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Filter } from '../../widgets/filter.tsx';
import { GateBadge } from '../../widgets/gate-badge.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Page, Section } from '../../widgets/page.tsx';
import { Tabs } from '../../widgets/tabs.tsx';
import { Ago } from '../../widgets/time.tsx';
import { Radar } from './radar.tsx';
import { useWorktrees } from './use-worktrees.ts';
import { isAtWork, nameIn, sayWorktree, TIERS } from './words.ts';

const ENDED: ReadonlySet<WorktreeView['status']> = new Set(['accepted', 'discarded', 'lost']);

/** Every worktree, and which of them get in each other's way. */
export function Worktrees() {
  const asked = useWorktrees();
  const words = useSignal('');
  const tab = useSignal(query.peek().get('show') === 'radar' ? 'radar' : 'list');
  const known = asked.data.value?.worktrees ?? (worktrees.value.length > 0 ? worktrees.value : undefined);
  if (!known) {
    return (
      <Page title="Worktrees">
        <Refused error={asked.error.value} />
      </Page>
    );
  }
  return (
    <Page title="Worktrees" actions={known.length > 0 && <Filter what="worktrees" words={words} />}>
      {known.length === 0 ? (
        <Empty title="There is no worktree" command={'reef run "what should be done"'}>
          Each task gets a folder and a branch of its own, so that agents never stand in each other's way.
        </Empty>
      ) : (
        <Tabs
          label="Ways to look at worktrees"
          chosen={tab}
          tabs={[
            { name: 'list', label: 'List' },
            { name: 'radar', label: 'Radar' },
          ]}
        >
          {tab.value === 'radar' ? <Radar all={known} /> : <List known={known} words={words.value} />}
        </Tabs>
      )}
    </Page>
  );
}

function List({ known, words }: { known: readonly WorktreeView[]; words: string }) {
  const found = known.filter((view) => matches(view, words)).toReversed();
  const groups = [
    { title: 'Open', views: found.filter(({ status }) => !ENDED.has(status)) },
    { title: 'Ended', views: found.filter(({ status }) => ENDED.has(status)) },
  ];
  return (
    <div class="page">
      {found.length === 0 && <p class="hint">No worktree is like that.</p>}
      {groups.map(
        ({ title, views }) =>
          views.length > 0 && (
            <Section key={title} title={title} amount={views.length}>
              <ul class="rows-list">
                {views.map((view) => (
                  <Row key={view.id} view={view} all={known} />
                ))}
              </ul>
            </Section>
          ),
      )}
    </div>
  );
}

function matches({ id, title, branch, status, base }: WorktreeView, words: string): boolean {
  const text = [id, title, branch, status, base.branch].join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Row({ view, all }: { view: WorktreeView; all: readonly WorktreeView[] }) {
  const said = sayWorktree(view);
  return (
    <li class={`list-row tone-${said.tone}`} data-item>
      <div class="list-main">
        <h3>
          <a href={`/worktrees/${view.id}`}>{plain(firstLine(view.title))}</a>
        </h3>
        <Because view={view} all={all} />
        <p class="list-facts">
          <code class="branch">{plain(view.branch)}</code>
          {view.seen && <span class="number">{plural(view.seen.files, 'file')} changed</span>}
        </p>
        {view.gates.length > 0 && !ENDED.has(view.status) && (
          <p class="gates">
            {view.gates.map((gate) => (
              <GateBadge key={gate.gate} gate={gate} now={view.seen?.tree} />
            ))}
          </p>
        )}
      </div>
      <div class="list-end">
        <Badge tone={said.tone}>
          {isAtWork(view.id) && <Dot tone={said.tone} />}
          {said.text}
        </Badge>
        {view.overlap.map(({ tier, worktreeId }) => (
          <Badge key={`${tier} ${worktreeId}`} tone={TIERS[tier].tone}>
            {tier} with {nameIn(all, worktreeId).slice(0, 24)}
          </Badge>
        ))}
        <span class="hint">
          <Ago at={view.createdAt} />
        </span>
      </div>
    </li>
  );
}

function pendingWords({ checkout, files, whenClean }: PendingMerge): string {
  const named =
    files.length === 0 ? 'something is under way' : `uncommitted changes to ${files.slice(0, 5).join(', ')}`;
  return `The merge waits for ${checkout}: ${named}.${whenClean ? ' It is done as soon as that is clean.' : ''}`;
}

/** Why it does not go on, when it does not. */
export function Because({ view, all }: { view: WorktreeView; all: readonly WorktreeView[] }) {
  const { failure, queue, pending, setup } = view;
  const waitsFor = queue?.waitsFor.map(({ worktreeId }) => nameIn(all, worktreeId)) ?? [];
  const words = [
    ...(failure ? [failure.message] : []),
    ...(setup.state === 'failed' ? [setup.message ?? 'Its set-up failed.'] : []),
    ...(pending ? [pendingWords(pending)] : []),
    ...(waitsFor.length > 0 ? [`Waits for ${waitsFor.join(', ')}`] : []),
    ...(queue && waitsFor.length === 0 ? [`Waits for a free place, as number ${queue.place}`] : []),
  ];
  if (words.length === 0) return null;
  return <p class="because">{plain(words.join(' '))}</p>;
}
