import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 200;
const EASE_AT = 0.75;
const SHRINK_AT = 0.85;
const COLLECT_AT = 0.95;
const PATIENCE_MS = 3_000;
/** Dropping again what was just read again would only cost time. */
const SHRINK_EVERY_MS = 10_000;
/** A parser is a quarter of what a server may take. */
const REST_EVERY_MS = 2_000;
/** Buffers outside of the heap do not hurry the collector. The last resort drops machine code, too, which is then made again. */
const COLLECT_EVERY_MS = 1_000;
const MIB = 1024 * 1024;

interface Ceiling {
  maxMb: number;
  /** What is worn goes and is made anew when it is needed; nothing that would have to be read again. */
  ease(): void;
  /** What nobody waits for ends, and with it the threads that did it. */
  rest(): void;
  /** What can be read again goes; `all`: also what takes seconds to make again. */
  shrink(what: 'cheap' | 'all'): Promise<void>;
  /** Above the ceiling for too long, although everything went that can: the server commits, exits and starts warm. */
  giveUp(): void;
  rss?: () => number;
}

/** Holds a server under its ceiling. Returns how to stop looking. */
export function watchCeiling({
  maxMb,
  ease,
  rest,
  shrink,
  giveUp,
  rss = () => process.memoryUsage.rss(),
}: Ceiling): () => void {
  const isForLong = heldFor(PATIENCE_MS);
  const isFullAfterCollection = heldFor(LOOK_MS / 2);
  const isTimeTo = {
    ease: atMostEvery(SHRINK_EVERY_MS),
    rest: atMostEvery(REST_EVERY_MS),
    shrink: atMostEvery(SHRINK_EVERY_MS),
    shrinkAll: atMostEvery(SHRINK_EVERY_MS),
    collect: atMostEvery(COLLECT_EVERY_MS),
  };
  const look = async () => {
    const used = rss() / MIB / maxMb;
    if (isForLong(used > 1)) return giveUp();
    spareHeap(used >= EASE_AT);
    if (used >= EASE_AT && isTimeTo.ease()) ease();
    if (used >= EASE_AT && isTimeTo.rest()) rest();
    const isUrgent = isFullAfterCollection(used >= COLLECT_AT);
    if (used >= SHRINK_AT) await free(used, isUrgent);
  };
  const free = async (used: number, isUrgent: boolean) => {
    const isShrunk = isUrgent ? isTimeTo.shrinkAll() : isTimeTo.shrink();
    if (isShrunk) await shrink(isUrgent ? 'all' : 'cheap');
    if (used >= COLLECT_AT && isTimeTo.collect()) collectGarbage('last-resort');
    else if (isShrunk) collectGarbage('regular');
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    spareHeap(false);
  };
}

/** V8 lets its heap grow by less before it collects again, which costs a tenth of the time: so only where memory is short. */
function spareHeap(isShort: boolean): void {
  setFlagsFromString(isShort ? '--optimize-for-size' : '--no-optimize-for-size');
}

/** Makes a check that says yes once every look for this long has said yes. */
function heldFor(ms: number): (isSo: boolean) => boolean {
  let since: number | undefined;
  return (isSo) => {
    since = isSo ? (since ?? performance.now()) : undefined;
    return since !== undefined && performance.now() - since > ms;
  };
}

/** Makes a check that says yes at most once in this time. */
function atMostEvery(ms: number): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < ms) return false;
    last = performance.now();
    return true;
  };
}

/** What was dropped is given back to the system at once: the next look must not see it. */
function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: object) => void;
  collect({ type: 'major', execution: 'sync', flavor });
}
