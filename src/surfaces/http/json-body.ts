import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';

const MAX_BODY_BYTES = 1_048_576;

/** The one reading of a body, for the socket and for the door. */
export async function readJson(type: string | undefined, body: AsyncIterable<Uint8Array>): Promise<unknown> {
  if (!isJson(type)) {
    throw new ReefError('unsupported_media_type', `The body must be application/json, not ${type || 'without a type'}`);
  }
  const parsed = parseJson((await readBytes(body)).toString('utf8'));
  if (!parsed.ok) throw new ReefError('bad_request', `The body is not JSON: ${parsed.why}`);
  // Unknown keys are refused, and these would be gone before a schema sees them.
  if (parsed.dropped) throw new ReefError('bad_request', 'The body has a key that changes prototypes');
  return parsed.value;
}

function isJson(type = ''): boolean {
  return /^application\/json\s*(?:;|$)/i.test(type);
}

async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Reads and drops the rest: a client that is still writing would not see the refusal.
  for await (const chunk of body) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > MAX_BODY_BYTES) throw new ReefError('body_too_large', `The body has ${size} bytes`);
  return Buffer.concat(chunks);
}
