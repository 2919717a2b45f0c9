import type { BlobRef, Json, SegmentView } from '../../protocol/workflow.ts';

interface SegmentHead {
  id: string;
  type: string;
  timestamp: string;
  outcome?: 'PASS' | 'FAIL';
  block: string;
  visit: number;
  branch: string;
  filePath?: string;
}

/** One piece of the execution payload, as workers see it. */
export type ContextSegment = SegmentHead & { content: Json };

/** A segment as it is kept: large content is a blob outside the journal. */
export type StoredSegment = SegmentHead & ({ content: Json; blob?: never } | { blob: BlobRef; content?: never });

export interface Blobs {
  put(bytes: Buffer): string;
  get(address: string): Buffer;
}

const LARGEST_INLINE = 64 * 1024;
const LARGEST_KEPT = 64 * 1024 * 1024;
const SHOWN_CHARACTERS = 2_048;

/** What a person reads of it: a linter's findings are data, beside which its words may stand raw. */
export function readableContent(content: Json, indent?: number): string {
  if (typeof content === 'string') return content;
  const raw = (content as { raw?: unknown } | null)?.raw;
  return typeof raw === 'string' ? raw : JSON.stringify(content, null, indent);
}

/** Over 64 KiB content is kept whole as a blob; over 64 MiB its first and last 32 MiB. */
export function storeSegment(segment: ContextSegment, blobs: Blobs): StoredSegment {
  const { content, ...head } = segment;
  const form = typeof content === 'string' ? 'text' : 'json';
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const bytes = Buffer.from(text);
  if (bytes.length <= LARGEST_INLINE) return { ...head, content };
  const isCut = bytes.length > LARGEST_KEPT;
  const kept = isCut ? cutMiddle(bytes) : bytes;
  const ref = { address: blobs.put(kept), bytes: kept.length, form: isCut ? 'text' : form } as const;
  const shown = readableContent(content);
  return { ...head, blob: { ...ref, head: shown.slice(0, SHOWN_CHARACTERS), tail: shown.slice(-SHOWN_CHARACTERS) } };
}

function cutMiddle(bytes: Buffer): Buffer {
  const half = LARGEST_KEPT / 2;
  const mark = `\n…[cut ${bytes.length - LARGEST_KEPT} bytes]…\n`;
  return Buffer.concat([bytes.subarray(0, half), Buffer.from(mark), bytes.subarray(bytes.length - half)]);
}

/** A blob is fetched only when `content` is read. */
export function openSegment(stored: StoredSegment, blobs: Pick<Blobs, 'get'>): ContextSegment {
  if (stored.blob === undefined) return stored;
  const { blob, content: _, ...head } = stored;
  return {
    ...head,
    get content(): Json {
      const text = blobs.get(blob.address).toString('utf8');
      return blob.form === 'text' ? text : JSON.parse(text);
    },
  };
}

/** What a person sees of it: for large content head, tail and address. */
export function viewSegment(stored: StoredSegment): SegmentView {
  const { id, type, timestamp, outcome, filePath, blob } = stored;
  const head = { id, type, timestamp, ...(outcome && { outcome }), ...(filePath !== undefined && { filePath }) };
  if (blob) return { ...head, bytes: blob.bytes, head: blob.head, tail: blob.tail, address: blob.address };
  const text = readableContent(stored.content);
  const bytes = Buffer.byteLength(text);
  if (text.length <= 2 * SHOWN_CHARACTERS) return { ...head, bytes, head: text };
  return { ...head, bytes, head: text.slice(0, SHOWN_CHARACTERS), tail: text.slice(-SHOWN_CHARACTERS) };
}
