import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 200;
const EASE_AT = 0.75;
const SHRINK_AT = 0.85;
const COLLECT_AT = 0.95;
const PATIENCE_MS = 3_000;
/** To drop again what was just read again would only cost time. */
const SHRINK_EVERY_MS = 10_000;
/** A parser takes a quarter of the memory of a server. */
const REST_EVERY_MS = 2_000;
/** Buffers outside of the heap do not trigger the collector. The last resort also drops machine code, which is compiled again. */
const COLLECT_EVERY_MS = 1_000;
const MIB = 1024 * 1024;

interface Ceiling {
  maxMb: number;
  /** Drops what has grown and is cheap to make again. Nothing has to be read again. */
  ease(): void;
  /** Ends the work nobody waits for, with its threads. */
  rest(): void;
  /** Drops what can be read again. `all` includes what takes seconds to make again. */
  shrink(what: 'cheap' | 'all'): Promise<void>;
  /** The memory stays above the ceiling although everything was dropped: the server commits, exits and starts again. */
  giveUp(): void;
  rss?: () => number;
}

/** Keeps the memory of a server under its ceiling. Returns a function that stops the watch. */
export function watchCeiling(ceiling: Ceiling): () => void {
  const { maxMb, rss = () => process.memoryUsage.rss() } = ceiling;
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
    if (isForLong(used > 1)) return ceiling.giveUp();
    spareHeap(used >= EASE_AT);
    if (used >= EASE_AT && isTimeTo.ease()) ceiling.ease();
    if (used >= EASE_AT && isTimeTo.rest()) ceiling.rest();
    const isUrgent = isFullAfterCollection(used >= COLLECT_AT);
    if (used >= SHRINK_AT) await free(used, isUrgent);
  };
  const free = async (used: number, isUrgent: boolean) => {
    const isShrunk = isUrgent ? isTimeTo.shrinkAll() : isTimeTo.shrink();
    if (isShrunk) await ceiling.shrink(isUrgent ? 'all' : 'cheap');
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

/** Lets V8 collect earlier. That costs a tenth of the time, so only while memory is short. */
function spareHeap(isShort: boolean): void {
  setFlagsFromString(isShort ? '--optimize-for-size' : '--no-optimize-for-size');
}

/** Makes a check that is true once its condition has held at every look for this long. */
function heldFor(ms: number): (isSo: boolean) => boolean {
  let since: number | undefined;
  return (isSo) => {
    since = isSo ? (since ?? performance.now()) : undefined;
    return since !== undefined && performance.now() - since > ms;
  };
}

/** Makes a check that is true at most once in this time. */
function atMostEvery(ms: number): () => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - last < ms) return false;
    last = performance.now();
    return true;
  };
}

/** Gives dropped memory back at once, so that the next look does not count it. */
function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: object) => void;
  collect({ type: 'major', execution: 'sync', flavor });
}
