/** A message of a prompt as a cache sees it: equal keys are equal bytes. */
export interface Block {
  key: string;
  tokens: number;
}

export interface Charge {
  tokens: number;
  /** Read from the cache, for minimum prefixes of 1,024 and 4,096. */
  read1024: number;
  read4096: number;
}

export const READ = 0.1;

/**
 * An honest provider: what a prompt shares with the one before it, message by message from the first, is read from the
 * cache if it is at least the minimum; all else is written. Nothing survives a changed message.
 */
export class PrefixCache {
  #before: readonly Block[] = [];

  charge(prompt: readonly Block[]): Charge {
    let shared = 0;
    for (const [index, block] of prompt.entries()) {
      if (this.#before[index]?.key !== block.key) break;
      shared += block.tokens;
    }
    this.#before = prompt;
    const tokens = prompt.reduce((sum, block) => sum + block.tokens, 0);
    return { tokens, read1024: shared >= 1_024 ? shared : 0, read4096: shared >= 4_096 ? shared : 0 };
  }
}

/** In uncached input tokens. */
export function costOf(charge: Charge, { minimum, write }: { minimum: 1_024 | 4_096; write: number }): number {
  const read = minimum === 1_024 ? charge.read1024 : charge.read4096;
  return READ * read + write * (charge.tokens - read);
}
