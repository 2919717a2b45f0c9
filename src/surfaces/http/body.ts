import type { IncomingMessage } from 'node:http';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';

const MAX_BODY_BYTES = 1_048_576;

/** The JSON body of a request, or the refusal it deserves. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new ReefError('unsupported_media_type', `The body must be application/json, not ${type || 'unnamed'}`);
  }
  const parsed = parseJson(await readText(request));
  if (!parsed.ok) throw new ReefError('bad_request', `The body is not JSON: ${parsed.why}`);
  return parsed.value;
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The rest is read and dropped: who is still writing would not see the refusal.
  for await (const chunk of request) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (size > MAX_BODY_BYTES) throw new ReefError('body_too_large', `The body has ${size} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}
