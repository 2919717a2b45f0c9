import { z } from 'zod';
import { ReefError } from '../../../protocol/errors.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import type { UrlGuard } from './url-guard.ts';

const MOST_HOPS = 5;
const MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

export interface FetchUrlDeps {
  /** Called again for each redirect. */
  addressesOf: UrlGuard;
  /** Makes one GET to these addresses and no others. */
  get(url: URL, addresses: readonly string[], signal: AbortSignal): Promise<Response>;
}

/** The name comes from Loki; curl is not used. */
export function fetchUrlTool(deps: FetchUrlDeps): Tool {
  return defineTool({
    name: 'fetch_url_via_curl',
    description: 'Fetches the text at an http or https address.',
    effect: 'exec',
    arguments: z.object({ url: z.string().min(1).max(8_192) }),
    claims: ({ url }) => ({ subject: url }),
    async run({ url }, { signal }) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
      try {
        const response = await follow(deps, url, limit);
        const text = await limitedText(response);
        if (!response.ok)
          throw new ReefError('tool_failed', `${url} answered ${response.status}: ${text.slice(0, 500)}`);
        return text;
      } catch (error) {
        if (error instanceof ReefError) throw error;
        if (signal.aborted) throw new ReefError('cancelled', 'The fetch was cancelled', { cause: error });
        const why = limit.aborted ? 'it took too long' : reasonOf(error);
        throw new ReefError('tool_failed', `${url} could not be fetched: ${why}`, { cause: error });
      }
    },
  });
}

async function follow({ addressesOf, get }: FetchUrlDeps, start: string, signal: AbortSignal): Promise<Response> {
  let url = parse(start);
  for (let hop = 0; hop <= MOST_HOPS; hop++) {
    const response = await get(url, await addressesOf(url), signal);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    url = parse(location, url);
  }
  throw new ReefError('tool_failed', `${start} redirects more than ${MOST_HOPS} times`);
}

function parse(text: string, base?: URL): URL {
  // The parser drops some control characters, so another reader could see another host.
  const isReadable = !/\p{Cc}/u.test(text) && URL.canParse(text, base?.href);
  const url = isReadable ? new URL(text, base) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ReefError(
      'url_refused',
      `Only http and https addresses are fetched, not ${JSON.stringify(text.slice(0, 200))}`,
    );
  }
  return url;
}

async function limitedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_BYTES) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_BYTES).toString('utf8');
  return size > MAX_BYTES ? `${text}\n[Only the first ${MAX_BYTES / 2 ** 20} MiB were read]` : text;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
