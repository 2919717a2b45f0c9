import { useSignal } from '@preact/signals';
import type { OperationOutput } from '../../../../src/protocol/operations.ts';
import type { WorktreeDiff } from '../../../../src/protocol/worktrees.ts';
import { op } from '../../connection/op.ts';
import { plain, plural } from '../../format.ts';
import { runs } from '../../store/home.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Sure } from '../../widgets/sure.tsx';
import { CommentField } from './diff-rows.tsx';
import type { FileDiff } from './patch.ts';
import { type Comment, isStale, type Review } from './review.ts';

interface ReviewBarProps {
  worktree: string;
  shown: WorktreeDiff;
  files: readonly FileDiff[];
  review: Review;
  again: () => void;
}

type Sent = OperationOutput<'review'>;

/** All comments go to the agent as one message, or none does. */
export function ReviewBar({ worktree, shown, files, review, again }: ReviewBarProps) {
  const { act, refused, isBusy } = useAct();
  const sent = useSignal<Sent | undefined>(undefined);
  const { comments, text, key } = review.now;
  const written = comments.filter((comment) => comment.text.trim() !== '');
  const stale = comments.filter((comment) => isStale(comment, files));
  const asksForApproval = runs.value.some((run) => run.worktree === worktree && run.status === 'halted');
  const isEmpty = written.length === 0 && text.trim() === '';
  const send = async (verdict: 'changes' | 'ok') => {
    const said = text.trim();
    const ask = async () => {
      sent.value = await op('review', {
        worktree,
        base: shown.base,
        verdict,
        comments: written.map(({ path, side, line, blob, text: words }) => ({
          path,
          side,
          line,
          blob,
          text: words.trim(),
        })),
        ...(said !== '' && { text: said }),
        ...(key !== '' && { key }),
      });
    };
    if (await act(ask)) review.clear();
    else again();
  };
  return (
    <section class="review" aria-label="Review">
      <Outdated stale={stale} files={files} review={review} />
      <textarea
        rows={1}
        aria-label="About all of it"
        placeholder={
          comments.length > 0
            ? 'About all of it'
            : 'Click the number of a line to comment on it, or write about all of it'
        }
        value={text}
        onInput={({ currentTarget }) => {
          sent.value = undefined;
          review.say(currentTarget.value);
        }}
      />
      <div class="actions">
        <Button
          kind={isEmpty ? 'plain' : 'main'}
          acts
          isBusy={isBusy.value}
          offBecause={isEmpty ? 'There is nothing to send yet' : undefined}
          onClick={() => void send('changes')}
        >
          Send review{written.length > 0 && `: ${plural(written.length, 'comment')}`}
        </Button>
        {asksForApproval && (
          <Button acts isBusy={isBusy.value} onClick={() => void send('ok')}>
            Approve
          </Button>
        )}
        {(comments.length > 0 || text !== '') && (
          <Sure label="Drop" sure="Drop the review?" onClick={() => review.clear()} />
        )}
        <Heard sent={sent.value} />
      </div>
      <Refused error={refused.value} />
    </section>
  );
}

const HOW: Record<Sent['how'], string> = {
  delivered: 'The agent was told',
  resumed: 'The agent goes on with it',
  retried: 'The run goes on with it',
  approved: 'The run was approved',
};

function Heard({ sent }: { sent: Sent | undefined }) {
  if (!sent) return null;
  const to = sent.runId === undefined ? `/jobs/${sent.agentId}` : `/runs/${sent.runId}`;
  return (
    <p class="heard tone-good" role="status">
      {HOW[sent.how]}: <a href={to}>{sent.runId === undefined ? 'its job' : 'its run'}</a>
    </p>
  );
}

/** Comments on a file that is no longer what they are about: they are kept, and a person says what becomes of them. */
function Outdated({ stale, files, review }: { stale: readonly Comment[]; files: readonly FileDiff[]; review: Review }) {
  if (stale.length === 0) return null;
  return (
    <div class="outdated notice tone-waits">
      <p>
        {plural(stale.length, 'comment')} on what has changed since. Nothing is sent before each is moved to the present
        line or removed.
      </p>
      {stale.map((comment) => (
        <div key={`${comment.path} ${comment.side} ${comment.line}`}>
          <p>
            {plain(comment.path)}, line {comment.line}: <code>{plain(comment.quote)}</code>
          </p>
          <CommentField comment={comment} review={review} />
          <Move comment={comment} files={files} review={review} />
        </div>
      ))}
    </div>
  );
}

function Move({ comment, files, review }: { comment: Comment; files: readonly FileDiff[]; review: Review }) {
  const { path, side, quote } = comment;
  const file = files.find((each) => each.path === path);
  const blob = file?.blobs[side];
  const lines = file?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  // The same words elsewhere in the file, or else what stands at that number now.
  const now = lines.find((line) => line[side] !== undefined && line.text.slice(0, 300) === quote);
  const there = now ?? lines.find((line) => line[side] === comment.line);
  const number = there?.[side];
  if (blob === undefined || !there || number === undefined) return null;
  return (
    <Button
      onClick={() => {
        review.remove(comment);
        review.put({ ...comment, blob, line: number, quote: there.text.slice(0, 300) });
      }}
    >
      Move to line {number}
    </Button>
  );
}
