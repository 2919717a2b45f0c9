import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { afterNews } from '../../../../src/protocol/differences.ts';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import type { RunView } from '../../../../src/protocol/workflow.ts';
import { connection, type RunNews } from '../../connection/connection.ts';
import { op } from '../../connection/op.ts';

interface Followed {
  run: RunSummary;
  view: RunView | undefined;
}

/** A run as it is, and as it becomes: what is different is pushed, and comes on top of what is known. */
export function useRun(id: string): { data: ReadonlySignal<Followed | undefined>; error: ReadonlySignal<unknown> } {
  const data = useSignal<Followed | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    let stop: (() => void) | undefined;
    let isOver = false;
    const watched = {
      id,
      seq: () => data.peek()?.view?.seq ?? 0,
      take(news: RunNews) {
        const isNext = news.from === 0 || news.from === watched.seq();
        const view = isNext ? afterNews(data.peek()?.view, news) : data.peek()?.view;
        data.value = { run: news.run, view };
        // Told by a stream that began before another one was heard: the next one begins where we are.
        if (news.seq > watched.seq()) connection.watchRun(watched);
      },
    };
    const begin = async () => {
      if (stop) return;
      try {
        const news = await op('run_follow', { id });
        if (isOver || stop) return;
        watched.id = news.run.runId;
        watched.take(news);
        error.value = undefined;
        stop = connection.watchRun(watched);
      } catch (refused) {
        error.value = refused;
      }
    };
    const stopLive = connection.onLive(() => void begin());
    return () => {
      isOver = true;
      stopLive();
      stop?.();
      data.value = undefined;
    };
  }, [id]);
  return { data, error };
}
