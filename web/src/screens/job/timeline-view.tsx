import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { VList, type VListHandle } from 'virtua';
import { Button } from '../../widgets/button.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { RowView } from './row-view.tsx';
import type { Timeline } from './timeline.ts';

/** So near to an end somebody means that end. */
const NEAR_PX = 80;

/** Opens at its tail and follows it, until somebody scrolls up. Only what is seen is in the document. */
export function TimelineView({ timeline, id }: { timeline: Timeline; id: string }) {
  const list = useRef<VListHandle>(null);
  const unfolded = useSignal<ReadonlySet<number>>(new Set());
  const follows = useSignal(true);
  const isGrowingUp = useRef(false);
  const rows = timeline.rows.value;

  useLayoutEffect(() => {
    isGrowingUp.current = false;
    if (follows.peek() && rows.length > 0) list.current?.scrollToIndex(rows.length - 1, { align: 'end' });
  }, [rows, follows]);
  useEffect(() => {
    follows.value = true;
  }, [timeline, follows]);

  const onScroll = async (offset: number) => {
    const handle = list.current;
    if (!handle) return;
    follows.value = handle.scrollSize - offset - handle.viewportSize < NEAR_PX;
    if (offset > NEAR_PX * 4 || timeline.isWhole.peek() || isGrowingUp.current) return;
    isGrowingUp.current = true;
    if (!(await timeline.readOlder())) isGrowingUp.current = false;
  };
  if (timeline.isRead.value && rows.length === 0) {
    return <Empty title="Nothing has happened yet" command={`reef output ${id} --follow`} />;
  }
  return (
    <div class="timeline">
      <Refused error={timeline.refused.value} />
      <VList
        // Its type comes from React, where a component is given what it says it takes.
        ref={list as never}
        data={rows}
        shift={isGrowingUp.current}
        onScroll={onScroll}
        class="rows"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label="Timeline"
        itemSize={64}
      >
        {(row) => <RowView key={row.seq} row={row} unfolded={unfolded} />}
      </VList>
      {!follows.value && (
        <div class="to-tail">
          <Button
            icon="down"
            onClick={() => {
              follows.value = true;
              list.current?.scrollToIndex(rows.length - 1, { align: 'end' });
            }}
          >
            Newest
          </Button>
        </div>
      )}
    </div>
  );
}
