import { type FSWatcher, watch } from 'node:fs';

/** Many lines written at once are told once. */
const GAP_MS = 20;

export interface Watch {
  close(): void;
}

/** Calls `onChange` soon after something is written in the folder. It may miss a change: whoever must see all of them looks as well. */
export function watchFolder(path: string, onChange: () => void): Watch {
  let timer: NodeJS.Timeout | undefined;
  let toldAt = 0;
  const tell = () => {
    timer = undefined;
    toldAt = performance.now();
    onChange();
  };
  const watcher = open(path, () => {
    timer ??= setTimeout(tell, Math.max(0, toldAt + GAP_MS - performance.now()));
  });
  return {
    close: () => {
      watcher?.close();
      clearTimeout(timer);
    },
  };
}

/** The kernel gives out a limited number of watches; without one the next look finds the change. */
function open(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on('error', () => {});
  } catch {
    return undefined;
  }
}
