import type { TokenCounter } from '../../base/tokens.ts';
import type { Message, NoteKind } from '../../protocol/repostate.ts';
import { type Segment, segmentOf } from './ledger.ts';
import { countMessages } from './messages.ts';

/** What follows the snapshot: exchanges in order, and Reef's own notes between them. */
export interface TailEntry {
  turn: number;
  messages: readonly Message[];
  segment: Segment;
}

export function exchangeEntry(counter: TokenCounter, turn: number, messages: readonly Message[]): TailEntry {
  const tokens = countMessages(counter, messages);
  return { turn, messages, segment: segmentOf('exchange', JSON.stringify(messages), tokens) };
}

export function noteEntry(
  counter: TokenCounter,
  { turn, why, text }: { turn: number; why: NoteKind; text: string },
): TailEntry {
  return { turn, messages: [{ role: 'user', text }], segment: segmentOf(why, text, counter.count(text)) };
}

interface KeepLimits {
  keep: number;
  /** Half of the tail budget: after keeping more, the next roll would come too soon. */
  most: number;
  /** Older exchanges stay while this many tokens are missing to a prefix worth caching. */
  fill: number;
}

/** The exchanges that a roll keeps: the last ones. If a single one is too long, its results become references. */
export function keepAtRoll(tail: readonly TailEntry[], limits: KeepLimits, counter: TokenCounter): TailEntry[] {
  const kept: TailEntry[] = [];
  let tokens = 0;
  for (const entry of tail.filter(({ segment }) => segment.kind === 'exchange').reverse()) {
    const isWanted = kept.length < limits.keep || tokens < limits.fill;
    const isFirst = kept.length === 0;
    const shown = isFirst && entry.segment.tokens > limits.most ? toReferences(entry, counter) : entry;
    if (!isWanted || (!isFirst && tokens + shown.segment.tokens > limits.most)) break;
    kept.unshift(shown);
    tokens += shown.segment.tokens;
  }
  return kept;
}

/** The calls stay, since a model must see that it made them. Opaque reasoning is dropped whole, never edited. */
function toReferences({ turn, messages }: TailEntry, counter: TokenCounter): TailEntry {
  const referred = messages.map((message): Message => {
    if (message.role === 'assistant') return { role: 'assistant', text: message.text, calls: message.calls };
    return { ...message, text: `[artifact_read "t${turn}"]` };
  });
  return exchangeEntry(counter, turn, referred);
}
