import type { Oid } from '../../../git/ref-name.ts';
import type { Fact } from '../store/fact.ts';
import { SKETCH_VERSION, type Sketch, type SketchBuilder } from '../words/sketch.ts';
import type { BlobBytes } from './blob-source.ts';

const HEAD_BYTES = 8 * 1024;

export interface Words {
  /** Its data is the sketch. */
  fact: Omit<Fact, 'data'>;
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
    return { sketch: none, fact: { ...key, status: 'too_large', bytes: blob.size } };
  }
  const { bytes } = blob;
  if (isBinary(bytes)) {
    return { sketch: none, fact: { ...key, status: 'binary', bytes: bytes.length } };
  }
  return { sketch: builder.sketch(bytes), fact: { ...key, status: 'ok', bytes: bytes.length } };
}
