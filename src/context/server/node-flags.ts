/**
 * What a server's Node must be started with; set later, these flags have no effect. Young objects get little room, because a scan
 * throws away at once what it has read.
 */
export function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', `--max-old-space-size=${oldMb}`];
}

/**
 * For glibc, which reads it at the start as well. It gives each thread a heap of its own and returns none of what they have free: of a
 * server that parses that is 30 MB, and one heap for all takes no more time.
 */
export const MALLOC_ENV = { MALLOC_ARENA_MAX: '1' };
