import type { OperationOutput } from '../../protocol/operations.ts';

type Page = OperationOutput<'output'>;

/** A result goes into a model's window as a whole; a page of the log alone may be megabytes. */
const MAX_BYTES = 32_768;

/** As many events as fit, at least one. The cursor names the last of them, so the next call reads on behind it. */
export function fitPage(page: Page): Page {
  let size = 0;
  const kept = page.events.findIndex((event) => {
    size += Buffer.byteLength(JSON.stringify(event));
    return size > MAX_BYTES;
  });
  const events = kept === -1 ? page.events : page.events.slice(0, Math.max(1, kept));
  const last = events.at(-1);
  if (!last || events.length === page.events.length) return page;
  return { ...page, events, nextCursor: String(last.seq), truncated: true };
}
