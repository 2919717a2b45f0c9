import type { Oid } from '../../../git/ref-name.ts';
import type { Fact } from '../store/fact.ts';
import { SKETCH_VERSION, type Sketch, type SketchBuilder } from '../words/sketch.ts';
import type { BlobBytes } from './blob-source.ts';

const HEAD_BYTES = 8 * 1024;
const NEWLINE = 0x0a;

export interface Words {
  fact: Fact;
  sketch: Sketch;
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, HEAD_BYTES).includes(0);
}

/** Stage 1 of one blob. What is skipped has an empty sketch and says why (C-015). */
export function wordsOf(oid: Oid, blob: Exclude<BlobBytes, { state: 'gone' }>, builder: SketchBuilder): Words {
  const key = { oid, lang: '', stage: 1, extractor: SKETCH_VERSION } as const;
  const none = new Uint32Array();
  if (blob.state === 'too_large') {
    return { sketch: none, fact: { ...key, status: 'too_large', data: new Uint8Array(), bytes: blob.size, lines: 0 } };
  }
  const { bytes } = blob;
  if (isBinary(bytes)) {
    return { sketch: none, fact: { ...key, status: 'binary', data: new Uint8Array(), bytes: bytes.length, lines: 0 } };
  }
  const sketch = builder.sketch(bytes);
  const data = new Uint8Array(sketch.buffer, sketch.byteOffset, sketch.byteLength);
  return { sketch, fact: { ...key, status: 'ok', data, bytes: bytes.length, lines: countLines(bytes) } };
}

function countLines(bytes: Buffer): number {
  let lines = bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
  return lines;
}
