/** Many reasons to look again become one look, and the next one only after the last has come back. */
export function refresher(look: () => Promise<void>, leastPauseMs: number): { soon: () => void; now: () => void } {
  let isLooking = false;
  let isAskedAgain = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = async () => {
    timer = undefined;
    if (isLooking) {
      isAskedAgain = true;
      return;
    }
    isLooking = true;
    isAskedAgain = false;
    await look().catch(() => {});
    isLooking = false;
    if (isAskedAgain) wait(leastPauseMs);
  };
  const wait = (ms: number) => {
    timer ??= setTimeout(begin, ms);
  };
  return {
    soon: () => wait(leastPauseMs),
    now: () => {
      clearTimeout(timer);
      timer = undefined;
      void begin();
    },
  };
}
