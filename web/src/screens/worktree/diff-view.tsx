import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { WindowVirtualizer, type WindowVirtualizerHandle } from 'virtua';
import { plain } from '../../format.ts';
import { Button } from '../../widgets/button.tsx';
import { Counts } from './counts.tsx';
import { type Row, RowView, rowsOf } from './diff-rows.tsx';
import type { FileDiff } from './patch.ts';
import type { Review } from './review.ts';

/** So narrow that two texts side by side could not be read. */
const NARROW = '(max-width: 52rem)';

interface DiffViewProps {
  files: readonly FileDiff[];
  review: Review;
  /** Undefined: comments can be written. */
  offBecause: string | undefined;
  isSplit: Signal<boolean>;
}

/** All lines of all files; only those that are near the window are in the document. */
export function DiffView({ files, review, offBecause, isSplit }: DiffViewProps) {
  const list = useRef<WindowVirtualizerHandle>(null);
  const folded = useSignal<ReadonlySet<string>>(new Set());
  const isNarrow = useMedia(NARROW);
  const splits = isSplit.value && !isNarrow.value;
  const rows = rowsOf(files, { folded: folded.value, splits });
  const goTo = (path: string) =>
    list.current?.scrollToIndex(
      rows.findIndex((row) => isHeadOf(row, path)),
      { align: 'start' },
    );
  return (
    <div class={`changes${splits ? ' is-split' : ''}`}>
      <div class="changes-head">
        {files.length > 1 && <Files files={files} goTo={goTo} />}
        {!isNarrow.value && (
          <Button
            kind="quiet"
            onClick={() => {
              isSplit.value = !isSplit.value;
            }}
          >
            {isSplit.value ? 'In one column' : 'Side by side'}
          </Button>
        )}
      </div>
      <section aria-label="Changes" class="change-lines">
        <WindowVirtualizer
          // Its type comes from React, where a component is given what it says it takes.
          ref={list as never}
          data={rows}
          itemSize={24}
        >
          {(row: Row) => <RowView key={row.key} row={row} review={review} offBecause={offBecause} folded={folded} />}
        </WindowVirtualizer>
      </section>
    </div>
  );
}

const isHeadOf = (row: Row, path: string) => row.kind === 'file' && row.file.path === path;

function Files({ files, goTo }: { files: readonly FileDiff[]; goTo: (path: string) => void }) {
  return (
    <details class="file-list">
      <summary>{files.length} files</summary>
      <ul>
        {files.map((file) => (
          <li key={file.path}>
            <button type="button" class="link" onClick={() => goTo(file.path)}>
              {plain(file.path)}
            </button>{' '}
            <Counts file={file} />
          </li>
        ))}
      </ul>
    </details>
  );
}

function useMedia(media: string): Signal<boolean> {
  const matches = useSignal(matchMedia(media).matches);
  useEffect(() => {
    const list = matchMedia(media);
    const look = () => {
      matches.value = list.matches;
    };
    list.addEventListener('change', look);
    return () => list.removeEventListener('change', look);
  }, [media]);
  return matches;
}
