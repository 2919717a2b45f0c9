import type { TokenCounter } from '../../base/tokens.ts';
import type { Message } from '../../protocol/repostate.ts';
import type { Segment } from './ledger.ts';
import { segmentHash } from './ledger.ts';
import { countMessages } from './messages.ts';

/** What follows the snapshot: exchanges in order, and what Reef itself said between them. */
export type TailEntry =
  | { kind: 'exchange'; turn: number; messages: readonly Message[]; tokens: number; segment: Segment }
  | { kind: 'note'; turn: number; messages: readonly Message[]; tokens: number; segment: Segment };

export function exchangeEntry(counter: TokenCounter, turn: number, messages: readonly Message[]): ExchangeEntry {
  const tokens = countMessages(counter, messages);
  const segment: Segment = {
    kind: 'exchange',
    provenance: 'agent',
    tokens,
    hash: segmentHash(JSON.stringify(messages)),
  };
  return { kind: 'exchange', turn, messages, tokens, segment };
}

export function noteEntry(
  counter: TokenCounter,
  note: { turn: number; why: 'delta' | 'reminder'; text: string },
): TailEntry {
  const tokens = counter.count(note.text);
  const segment: Segment = { kind: note.why, provenance: 'reef', tokens, hash: segmentHash(note.text) };
  return { kind: 'note', turn: note.turn, messages: [{ role: 'user', text: note.text }], tokens, segment };
}

export type ExchangeEntry = Extract<TailEntry, { kind: 'exchange' }>;

interface KeepLimits {
  keep: number;
  /** B/2: a roll that kept more would soon be followed by another. */
  most: number;
  /** Older exchanges are kept as well while this many tokens are missing to a prefix worth caching. */
  fill: number;
}

/** What stays at a roll: the last exchanges; of one that is too long alone, its results become references. */
export function keepAtRoll(tail: readonly TailEntry[], limits: KeepLimits, counter: TokenCounter): ExchangeEntry[] {
  const exchanges = tail.filter((entry): entry is ExchangeEntry => entry.kind === 'exchange');
  const kept: ExchangeEntry[] = [];
  let tokens = 0;
  for (const entry of exchanges.toReversed()) {
    const isWanted = kept.length < limits.keep || tokens < limits.fill;
    const isFirst = kept.length === 0;
    const shown = isFirst && entry.tokens > limits.most ? toReferences(entry, counter) : entry;
    if (!isWanted || (!isFirst && tokens + shown.tokens > limits.most)) break;
    kept.unshift(shown);
    tokens += shown.tokens;
  }
  return kept;
}

/** The calls stay, since a model must see that it made them; opaque reasoning is dropped whole, never edited. */
function toReferences(entry: ExchangeEntry, counter: TokenCounter): ExchangeEntry {
  const messages = entry.messages.map((message): Message => {
    if (message.role === 'assistant') return { role: 'assistant', text: message.text, calls: message.calls };
    return { ...message, text: `[artifact_read "t${entry.turn}"]` };
  });
  return exchangeEntry(counter, entry.turn, messages);
}
