import type { Message } from '../../protocol/repostate.ts';

interface MarkInput {
  messages: readonly Message[];
  /** Messages before the tail: system, task, snapshot, and instructions where there are some. */
  prefix: { system: number; task: number; snapshot: number };
  /** How many messages the last prompt of this epoch had; 0 at its first. */
  before: number;
  maxMarks: number;
  lookback: number;
}

/** Some blocks are spent by the provider itself. */
const SPARE_BLOCKS = 2;

/**
 * The messages after which a cache mark stands (S-35). Providers look back about 20 blocks from a mark for what they
 * have cached: a turn with more blocks gets marks in between, and the one after the task is given up first.
 */
export function placeMarks({ messages, prefix, before, maxMarks, lookback }: MarkInput): number[] {
  if (maxMarks <= 0 || messages.length === 0) return [];
  const last = messages.length - 1;
  const tail = [last];
  let blocks = 0;
  for (let at = last; at > Math.max(prefix.snapshot, before - 1); at--) {
    blocks += blocksOf(messages[at]);
    if (blocks > lookback - SPARE_BLOCKS) {
      tail.push(at);
      blocks = 0;
    }
  }
  const wanted = [...tail, prefix.snapshot, prefix.system, prefix.task];
  return [...new Set(wanted)].slice(0, maxMarks).sort((a, b) => a - b);
}

function blocksOf(message: Message | undefined): number {
  if (message?.role !== 'assistant') return 1;
  return Number(message.text !== '') + (message.reasoning?.length ?? 0) + message.calls.length;
}
