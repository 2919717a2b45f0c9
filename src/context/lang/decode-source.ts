/** The one decoding all lines and columns rest on (contract.ts). */
export function decodeSource(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
