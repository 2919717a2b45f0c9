import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_MS = 500;
const EASE_AT = 0.75;
const SHRINK_AT = 0.85;
const COLLECT_AT = 0.9;
const PATIENCE_MS = 3_000;
/** Dropping again what was just read again would only cost time. */
const SHRINK_EVERY_MS = 10_000;
/** Buffers outside of the heap do not hurry the collector, which takes some 40 ms. */
const COLLECT_EVERY_MS = 1_000;
const MIB = 1024 * 1024;

interface Ceiling {
  maxMb: number;
  /** What is worn goes and is made anew when it is needed; nothing that would have to be read again. */
  ease(): void;
  shrink(): Promise<void>;
  /** Above the ceiling for too long, although everything went that can: the server commits, exits and starts warm. */
  giveUp(): void;
  rss?: () => number;
}

/** Holds a server under its ceiling (C-078). Returns how to stop looking. */
export function watchCeiling({
  maxMb,
  ease,
  shrink,
  giveUp,
  rss = () => process.memoryUsage.rss(),
}: Ceiling): () => void {
  let aboveSince: number | undefined;
  let shrunkAt = Number.NEGATIVE_INFINITY;
  let easedAt = Number.NEGATIVE_INFINITY;
  let collectedAt = Number.NEGATIVE_INFINITY;
  const look = async () => {
    const used = rss() / MIB;
    aboveSince = used > maxMb ? (aboveSince ?? performance.now()) : undefined;
    if (aboveSince !== undefined && performance.now() - aboveSince > PATIENCE_MS) return giveUp();
    if (used >= maxMb * EASE_AT && performance.now() - easedAt >= SHRINK_EVERY_MS) {
      easedAt = performance.now();
      ease();
    }
    const mayShrink = used >= maxMb * SHRINK_AT && performance.now() - shrunkAt >= SHRINK_EVERY_MS;
    const mayCollect = used >= maxMb * COLLECT_AT && performance.now() - collectedAt >= COLLECT_EVERY_MS;
    if (mayShrink) {
      shrunkAt = performance.now();
      await shrink();
    }
    if (!mayShrink && !mayCollect) return;
    collectedAt = performance.now();
    collector()();
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** What was dropped is given back to the system at once: the next look must not see it. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
