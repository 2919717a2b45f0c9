/**
 * Gives memory back at once. V8 sees little of what bytes outside of its heap cost, and lets tens of megabytes of them wait for its
 * collector. Small buffers share their memory with others, and are left to it.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}
