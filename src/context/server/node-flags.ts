/**
 * What a server's Node must be started with; set later, these flags have no effect. Young objects get little room, because a scan
 * throws away at once what it has read; and so little of it is collected by one thread in the time it takes to wake others.
 */
export function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', '--no-parallel-scavenge', `--max-old-space-size=${oldMb}`];
}

/**
 * For glibc, which reads it at the start as well. By itself it gives each thread a heap of its own, and keeps what large buffers
 * leave free, because it takes the first one that is freed for a sign that more will come. Neither wins a server any time.
 */
export const MALLOC_ENV = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '262144',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};
