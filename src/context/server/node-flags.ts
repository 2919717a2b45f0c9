/**
 * What a server's Node must be started with; set later, these flags have no effect. Young objects get little room, because a scan
 * throws away at once what it has read. WASM is compiled by the quick compiler only: for the bash grammar the optimising one takes
 * 590 MB for some seconds, whatever the ceiling, and parsing gains a fifth by it (C-078).
 */
export function nodeFlags(maxMemoryMb: number): string[] {
  const oldMb = Math.max(64, Math.floor(maxMemoryMb * 0.4));
  return ['--max-semi-space-size=2', `--max-old-space-size=${oldMb}`, '--liftoff-only'];
}
