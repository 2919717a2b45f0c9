import type { Signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { plain } from '../../format.ts';
import { Badge, type Tone } from '../../widgets/badge.tsx';
import { Button } from '../../widgets/button.tsx';
import { Counts } from './counts.tsx';
import { type Beside, type FileDiff, type Line, type Side, sideBySide } from './patch.ts';
import type { Comment, Review } from './review.ts';

/** What one line of the list shows. */
export type Row =
  | { kind: 'file'; key: string; file: FileDiff }
  | { kind: 'title'; key: string; text: string }
  | { kind: 'note'; key: string; text: string }
  | { kind: 'line'; key: string; file: FileDiff; line: Line }
  | { kind: 'beside'; key: string; file: FileDiff; beside: Beside };

interface How {
  folded: ReadonlySet<string>;
  splits: boolean;
}

export function rowsOf(files: readonly FileDiff[], { folded, splits }: How): Row[] {
  return files.flatMap((file): Row[] => {
    const head: Row = { kind: 'file', key: file.path, file };
    if (folded.has(file.path)) return [head];
    const note: Row[] = file.note === undefined ? [] : [{ kind: 'note', key: `${file.path} note`, text: file.note }];
    const lines = file.hunks.flatMap((hunk, at): Row[] => [
      ...(at > 0 || hunk.title !== '' ? [{ kind: 'title' as const, key: `${file.path} ${at}`, text: hunk.title }] : []),
      ...(splits ? besides(file, hunk.lines, at) : singles(file, hunk.lines, at)),
    ]);
    return [head, ...lines, ...note];
  });
}

const singles = (file: FileDiff, lines: readonly Line[], hunk: number) =>
  lines.map((line, at): Row => ({ kind: 'line', key: `${file.path} ${hunk} ${at}`, file, line }));

const besides = (file: FileDiff, lines: readonly Line[], hunk: number) =>
  sideBySide(lines).map((beside, at): Row => ({ kind: 'beside', key: `${file.path} ${hunk} ${at}`, file, beside }));

interface RowViewProps {
  row: Row;
  review: Review;
  offBecause: string | undefined;
  folded: Signal<ReadonlySet<string>>;
}

export function RowView({ row, review, offBecause, folded }: RowViewProps) {
  switch (row.kind) {
    case 'file':
      return <FileHead file={row.file} folded={folded} />;
    case 'title':
      return <p class="change-title">{plain(row.text) || '⋯'}</p>;
    case 'note':
      return <p class="change-note hint">{row.text}</p>;
    case 'line': {
      const side: Side = row.line.kind === 'removed' ? 'old' : 'new';
      const own = { file: row.file, line: row.line, side, review, offBecause };
      return (
        <>
          <LineView {...own} isAlone />
          <Remark {...own} />
        </>
      );
    }
    case 'beside':
      return <BesideView row={row} review={review} offBecause={offBecause} />;
  }
}

const WHAT: Record<FileDiff['what'], Tone> = { added: 'good', removed: 'bad', renamed: 'works', changed: 'calm' };

function FileHead({ file, folded }: { file: FileDiff; folded: Signal<ReadonlySet<string>> }) {
  const { path, from, what } = file;
  const isOpen = !folded.value.has(path);
  return (
    <h3 class="change-file" data-item>
      <button
        type="button"
        class="item"
        aria-expanded={isOpen}
        onClick={() => {
          const next = new Set(folded.value);
          if (isOpen) next.add(path);
          else next.delete(path);
          folded.value = next;
        }}
      >
        {from !== undefined && <span class="hint">{plain(from)} → </span>}
        <span>{plain(path)}</span>
      </button>
      {what !== 'changed' && <Badge tone={WHAT[what]}>{what}</Badge>}
      <Counts file={file} />
    </h3>
  );
}

interface LineProps {
  file: FileDiff;
  line: Line;
  side: Side;
  review: Review;
  offBecause: string | undefined;
  /** It stands for both sides, and shows both numbers. */
  isAlone?: boolean;
}

const SIGNS: Record<Line['kind'], string> = { same: ' ', added: '+', removed: '−' };
const SPOKEN: Record<Line['kind'], string> = { same: '', added: 'added ', removed: 'removed ' };

/** Its number is the button that begins a comment. */
function LineView({ file, line, side, review, offBecause, isAlone = false }: LineProps) {
  const number = line[side] ?? 0;
  const blob = file.blobs[side];
  const path = side === 'old' ? (file.from ?? file.path) : file.path;
  const begin = () => {
    const place = { path, side, line: number };
    if (blob === undefined || review.at(place)) return;
    review.put({ ...place, blob, text: '', quote: line.text.slice(0, 300) });
  };
  return (
    <div class={`change-line ${line.kind}`}>
      <button
        type="button"
        class="change-number"
        aria-disabled={offBecause !== undefined || blob === undefined}
        aria-label={`Comment on ${SPOKEN[line.kind]}line ${number} of ${plain(path)}`}
        title={offBecause ?? 'Comment on this line'}
        onClick={() => offBecause === undefined && begin()}
      >
        {isAlone && <span>{line.old}</span>}
        <span>{isAlone ? line.new : number}</span>
      </button>
      <code>
        <span class="sign">{SIGNS[line.kind]}</span>
        {plain(line.text)}
      </code>
    </div>
  );
}

function BesideView({ row, ...rest }: Omit<RowViewProps, 'folded' | 'row'> & { row: Row & { kind: 'beside' } }) {
  const { file, beside } = row;
  const sides = (['old', 'new'] as const).map((side) => ({ side, line: beside[side] }));
  return (
    <>
      <div class="change-beside">
        {sides.map(({ side, line }) =>
          line ? (
            <LineView key={side} {...rest} file={file} line={line} side={side} />
          ) : (
            <div key={side} class="change-line none" />
          ),
        )}
      </div>
      {sides.map(({ side, line }) => line && <Remark key={side} {...rest} file={file} line={line} side={side} />)}
    </>
  );
}

/** The comment on a line, open for as long as it is not sent. */
function Remark({ file, line, side, review }: LineProps) {
  const comment = review.at({
    path: side === 'old' ? (file.from ?? file.path) : file.path,
    side,
    line: line[side] ?? 0,
  });
  if (!comment || comment.blob !== file.blobs[side]) return null;
  return <CommentField comment={comment} review={review} />;
}

export function CommentField({ comment, review }: { comment: Comment; review: Review }) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (comment.text === '') field.current?.focus();
  }, []);
  return (
    <div class="remark">
      <textarea
        ref={field}
        rows={2}
        aria-label={`Comment on line ${comment.line} of ${plain(comment.path)}`}
        placeholder="What should be different here"
        value={comment.text}
        onInput={({ currentTarget }) => review.put({ ...comment, text: currentTarget.value })}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Escape' && currentTarget.value === '') review.remove(comment);
        }}
      />
      <Button kind="quiet" icon="cross" label="Remove this comment" onClick={() => review.remove(comment)} />
    </div>
  );
}
