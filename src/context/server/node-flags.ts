/**
 * What a server's Node must be started with; set later, these flags have no effect. Young objects get little room, because a scan
 * throws away at once what it has read.
 */
export function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', `--max-old-space-size=${oldMb}`];
}
