import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { WorktreeDiff, WorktreeView } from '../../../../src/protocol/worktrees.ts';
import { isLive } from '../../connection/connection.ts';
import { op } from '../../connection/op.ts';
import { firstLine, plain, plural } from '../../format.ts';
import type { ScreenProps } from '../../screen.ts';
import { jobs, runs, worktrees } from '../../store/home.ts';
import { useAct } from '../../store/use-act.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Button } from '../../widgets/button.tsx';
import { Command } from '../../widgets/command.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Page, Section } from '../../widgets/page.tsx';
import { Sure } from '../../widgets/sure.tsx';
import { Ago } from '../../widgets/time.tsx';
import { Clashes } from '../worktrees/radar.tsx';
import { useWorktrees } from '../worktrees/use-worktrees.ts';
import { isAtWork, sayWorktree } from '../worktrees/words.ts';
import { Because } from '../worktrees/worktrees.tsx';
import { DiffView } from './diff-view.tsx';
import { MergePanel } from './merge-panel.tsx';
import { readPatch } from './patch.ts';
import { Review } from './review.ts';
import { ReviewBar } from './review-bar.tsx';

/** One worktree: what it changes, what is said about that, and what becomes of it. */
export function Worktree({ id = '' }: ScreenProps) {
  const asked = useWorktrees();
  const all = asked.data.value?.worktrees ?? worktrees.value;
  const view = all.find((each) => each.id === id);
  if (view) return <Known key={id} view={view} all={all} />;
  if (!asked.data.value && asked.error.value === undefined) return null;
  return (
    <Page title="No such worktree">
      <Refused error={asked.error.value} />
      <Empty title="It is not here" command="reef worktree list --all" />
    </Page>
  );
}

const HAS_FOLDER: ReadonlySet<WorktreeView['status']> = new Set(['running', 'accepting']);

function Known({ view, all }: { view: WorktreeView; all: readonly WorktreeView[] }) {
  const discarding = useAct();
  const canDiscard = view.status !== 'accepted' && view.status !== 'discarded' && view.status !== 'creating';
  return (
    <Page
      title={plain(firstLine(view.title))}
      kind={<Kind view={view} />}
      actions={
        canDiscard && (
          <Sure
            icon="cross"
            label="Discard"
            sure="Discard it? Its work is kept"
            onClick={() => void discarding.act(() => op('worktree_discard', { id: view.id }))}
          />
        )
      }
    >
      <Refused error={discarding.refused.value} />
      <Because view={view} all={all} />
      {HAS_FOLDER.has(view.status) ? <Open view={view} all={all} /> : <PutAway view={view} />}
    </Page>
  );
}

function Kind({ view }: { view: WorktreeView }) {
  const said = sayWorktree(view);
  const run = runs.value.find(({ worktree }) => worktree === view.id);
  const job = jobs.value.find(({ worktree }) => worktree === view.id);
  return (
    <>
      <Badge tone={said.tone}>
        {isAtWork(view.id) && <Dot tone={said.tone} />}
        {said.text}
      </Badge>
      <code class="branch">{plain(view.branch)}</code>
      {view.base.branch && <span>into {plain(view.base.branch)}</span>}
      {run && <a href={`/runs/${run.runId}`}>its run</a>}
      {job && <a href={`/jobs/${job.id}`}>its job</a>}
      <Ago at={view.createdAt} />
    </>
  );
}

/** It has no folder now, so there are no files to look at. */
function PutAway({ view }: { view: WorktreeView }) {
  const { act, refused, isBusy } = useAct();
  const words: Partial<Record<WorktreeView['status'], string>> = {
    queued: 'It waits for its turn, and has no files yet.',
    creating: 'Its folder is being made.',
    accepted: `Merged into ${view.base.branch || 'its target'}; its folder is gone.`,
    held: 'Its work is kept on a ref of git, with the session of its agent.',
    discarded: 'Its folder is gone; its work is kept on a ref of git.',
    lost: 'Its folder disappeared.',
  };
  return (
    <div class="put-away">
      <p>{plain(words[view.status] ?? '')}</p>
      {view.ref !== undefined && (
        <>
          <Command text={`reef worktree restore ${view.ref}`} />
          <Button
            acts
            isBusy={isBusy.value}
            onClick={() => void act(() => op('worktree_restore', { ref: view.ref ?? view.id }))}
          >
            Bring it back
          </Button>
          <Refused error={refused.value} />
        </>
      )}
    </div>
  );
}

interface Looked {
  diff: WorktreeDiff;
  /** An agent was writing in it when it was read: what comes next is shown by itself. */
  isPassing: boolean;
}

function Open({ view, all }: { view: WorktreeView; all: readonly WorktreeView[] }) {
  const { id } = view;
  const run = runs.value.find(({ worktree }) => worktree === id);
  const asked = useOperation(
    'diff',
    { id },
    (change) => (change.kind === 'worktree' && change.id === id) || (change.kind === 'run' && change.id === run?.runId),
  );
  const review = useMemo(() => new Review(id), [id]);
  const looked = useSignal<Looked | undefined>(undefined);
  const latest = asked.data.value;
  const busy = isAtWork(id);
  useEffect(() => {
    if (!latest) return;
    const before = looked.peek();
    const isSame = before?.diff.tree === latest.tree;
    const follows = (busy || before?.isPassing === true) && review.now.comments.length === 0;
    if (!before || isSame || follows) looked.value = { diff: latest, isPassing: busy };
  }, [latest]);
  useEffect(() => {
    // Nobody looks for good at what is being written.
    if (busy && latest && review.now.comments.length === 0) looked.value = { diff: latest, isPassing: true };
  }, [busy]);
  const shown = looked.value?.diff;
  if (!shown || !latest) return asked.error.value === undefined ? <Reading /> : <Refused error={asked.error.value} />;
  const isOld = latest.tree !== shown.tree || latest.base !== shown.base;
  const show = () => {
    looked.value = { diff: latest, isPassing: busy };
  };
  return (
    <>
      <Refused error={asked.error.value} />
      {!isLive.value && <p class="notice tone-waits">This is what was there when the connection was lost.</p>}
      <MergePanel view={view} shown={shown} isOld={isOld} isAtWork={busy} again={asked.again} />
      {view.overlap.length > 0 && (
        <Section title="Others at the same files" hint={<a href="/worktrees?show=radar">All overlaps</a>}>
          <Clashes clashes={view.overlap} all={all} />
        </Section>
      )}
      {isOld && (
        <p class="notice tone-waits changed-since" role="status">
          <span>The files have changed since you looked.</span>
          <Button onClick={show}>Show the present ones</Button>
        </p>
      )}
      <Changes shown={shown} view={view} review={review} again={asked.again} />
    </>
  );
}

function Reading() {
  return (
    <p class="hint" role="status">
      Comparing it with its base…
    </p>
  );
}

interface ChangesProps {
  shown: WorktreeDiff;
  view: WorktreeView;
  review: Review;
  again: () => void;
}

function Changes({ shown, view, review, again }: ChangesProps) {
  const isSplit = useSignal(false);
  const files = useMemo(() => readPatch(shown.patch), [shown.patch]);
  const { unplanned } = shown.drift;
  const isPlanned = view.changePlan.some(({ origin }) => origin === 'declared');
  return (
    <Section
      title="Changes"
      amount={shown.files.length}
      hint={
        <>
          Since <code>{shown.base.slice(0, 8)}</code>
          {isPlanned &&
            unplanned.length > 0 &&
            `; ${plural(unplanned.length, 'file')} not planned: ${plain(unplanned.slice(0, 5).join(', '))}`}
        </>
      }
    >
      {shown.files.length === 0 ? (
        <Empty title="Nothing is changed yet" command={`reef worktree shell ${view.id.slice(0, 10)}`}>
          What its agent writes appears here.
        </Empty>
      ) : (
        <DiffView files={files} review={review} offBecause={undefined} isSplit={isSplit} />
      )}
      {shown.truncated && (
        <div class="notice tone-waits">
          <p>The patch is too long to be shown whole. All of it:</p>
          <Command text={`git -C ${view.path ?? '.'} diff ${shown.base.slice(0, 12)}`} />
        </div>
      )}
      <ReviewBar worktree={view.id} shown={shown} files={files} review={review} again={again} />
    </Section>
  );
}
