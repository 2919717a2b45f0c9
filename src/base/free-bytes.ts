/** Frees memory at once: V8 lets tens of megabytes outside its heap wait. Small buffers share their memory and are skipped. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}
