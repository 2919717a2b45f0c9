import { ReefError } from '../../../protocol/errors.ts';
import { htmlToText, linksOf } from './html.ts';
import { plainText, type SourceDocument } from './load-text.ts';

export type Fetch = (url: string, init: { signal: AbortSignal; headers: Record<string, string> }) => Promise<Response>;

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 * 1024 * 1024;
/** The most pages of one `url/**`. */
const MAX_PAGES = 500;

interface Page {
  content: Uint8Array;
  isHtml: boolean;
}

export function webPage(url: string, fetch: Fetch): SourceDocument {
  let page: Promise<Page> | undefined;
  const once = () => {
    page ??= download(url, fetch);
    return page;
  };
  return document(url, once);
}

/** Follows the links of a site, breadth first, and gives the pages below a URL. */
export async function* sitePages(root: string, fetch: Fetch): AsyncGenerator<SourceDocument> {
  const prefix = root.endsWith('/') ? root : `${root}/`;
  const isBelow = (url: string) => url === root || url.startsWith(prefix);
  const queue = [root];
  const known = new Set(queue);
  for (let at = 0; at < queue.length && at < MAX_PAGES; at += 1) {
    const url = queue[at] ?? root;
    const page = download(url, fetch);
    yield document(url, () => page);
    const { content, isHtml } = await page.catch(() => ({ content: new Uint8Array(), isHtml: false })); // listed as failed
    const links = isHtml ? linksOf(plainText(content), url) : [];
    for (const link of links) {
      if (known.has(link) || !isBelow(link)) continue;
      known.add(link);
      queue.push(link);
    }
  }
}

function document(url: string, page: () => Promise<Page>): SourceDocument {
  return {
    source: url,
    loadedBy: 'web',
    content: async () => (await page()).content,
    async text() {
      const { content, isHtml } = await page();
      return isHtml ? htmlToText(plainText(content)) : plainText(content);
    },
  };
}

async function download(url: string, fetch: Fetch): Promise<Page> {
  const headers = { accept: 'text/html, text/markdown, text/plain, */*;q=0.1' };
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), headers });
  if (!response.ok) throw new ReefError('loader_failed', `${url} answered ${response.status}`);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > MAX_BYTES) throw new ReefError('loader_failed', `${url} is larger than ${MAX_BYTES / 2 ** 20} MiB`);
    parts.push(part);
  }
  const isHtml = (response.headers.get('content-type') ?? '').includes('html');
  return { content: Buffer.concat(parts), isHtml };
}
