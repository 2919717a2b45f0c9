import { createHash } from 'node:crypto';

export interface TokenCounter {
  /** Whether counts are exact o200k; without the vocabulary they are characters ÷ 3.3. */
  readonly isExact: boolean;
  count(text: string): number;
  /** Learns a model's factor from what the provider reported for a call we had counted. */
  observe(model: string, counted: number, reported: number): void;
  /** What the model is likely to report for this many of our tokens. */
  estimate(model: string, tokens: number): number;
}

type CountSlice = (slice: string) => number;

/** The encoding is quadratic on unbroken text, so it never gets a longer piece. */
const LONGEST_SLICE = 1_024;
/** How far back a slice looks for a place where the encoding itself would split. */
const LOOK_BACK = 256;
const SHORT_KEY = 64;
const MEMO_SIZE = 100_000;
const OBSERVATIONS = 20;
const CHARACTERS_PER_TOKEN = 3.3;

/** Exact o200k where its vocabulary can be loaded (2 MB, so only on first use), an estimate elsewhere. */
export async function loadTokenCounter(): Promise<TokenCounter> {
  const exact = await import('gpt-tokenizer/encoding/o200k_base').then(
    // In data no token is special: `<|endoftext|>` is plain text.
    ({ countTokens }) =>
      (slice: string) =>
        countTokens(slice, { allowedSpecial: new Set(), disallowedSpecial: new Set() }),
    () => undefined,
  );
  return createTokenCounter(exact);
}

/** Remembers `memoSize` texts. Without a function that counts slices, tokens are characters ÷ 3.3. */
export function createTokenCounter(countSlice?: CountSlice, memoSize = MEMO_SIZE): TokenCounter {
  const memo = new Map<string, number>();
  const ratios = new Map<string, number[]>();
  const measure = (text: string): number => {
    if (countSlice === undefined) return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
    let sum = 0;
    for (const slice of slicesOf(text)) sum += countSlice(slice);
    return sum;
  };
  const count = (text: string): number => {
    if (text === '') return 0;
    const key = text.length <= SHORT_KEY ? text : createHash('sha1').update(text).digest('base64');
    const known = memo.get(key);
    if (known !== undefined) return known;
    const counted = measure(text);
    if (memo.size >= memoSize) for (const oldest of memo.keys()) if (memo.delete(oldest)) break;
    memo.set(key, counted);
    return counted;
  };
  return {
    isExact: countSlice !== undefined,
    count,
    observe(model, counted, reported) {
      if (!(counted > 0 && reported > 0)) return;
      const seen = ratios.get(model) ?? [];
      seen.push(reported / counted);
      ratios.set(model, seen.slice(-OBSERVATIONS));
    },
    estimate: (model, tokens) => Math.round(tokens * factorOf(ratios.get(model) ?? [])),
  };
}

/** The median: one call with an unseen image or tool must not bend the rest. */
function factorOf(seen: readonly number[]): number {
  const sorted = [...seen].sort((a, b) => a - b);
  const middle = ((sorted[(sorted.length - 1) >> 1] ?? 1) + (sorted[sorted.length >> 1] ?? 1)) / 2;
  return Math.min(2, Math.max(0.5, middle));
}

/** Pieces of at most 1,024 characters that join to the text and split no pair of surrogates. */
export function* slicesOf(text: string): Generator<string> {
  let from = 0;
  while (text.length - from > LONGEST_SLICE) {
    const to = cutBefore(text, from + LONGEST_SLICE);
    yield text.slice(from, to);
    from = to;
  }
  if (from < text.length) yield text.slice(from);
}

const LETTER = /[A-Za-z]/;

/** A position where o200k splits anyway: after a line break or before a blank that a letter follows. Otherwise the limit. */
function cutBefore(text: string, limit: number): number {
  for (let at = limit; at > limit - LOOK_BACK; at--) {
    const isLineStart = text[at - 1] === '\n' && LETTER.test(text[at] ?? '');
    const isWordStart = text[at] === ' ' && /\S/.test(text[at - 1] ?? '') && LETTER.test(text[at + 1] ?? '');
    if (isLineStart || isWordStart) return at;
  }
  const isPair = /[\ud800-\udbff]/.test(text[limit - 1] ?? '') && /[\udc00-\udfff]/.test(text[limit] ?? '');
  return isPair ? limit - 1 : limit;
}
