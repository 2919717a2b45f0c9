/**
 * Gives memory back at once. V8 underestimates bytes outside its heap and lets tens of megabytes wait for the collector.
 * Small buffers share their memory with others and are left to it.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}
