import { isOver } from '../../../protocol/is-over.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import type { Cli } from '../cli.ts';
import { type LoggedEvent, renderEvent } from '../render/timeline.ts';

export type Page = OperationOutput<'output'>;

const LONGEST_CALL_MS = 45_000;

interface Reading {
  id: string;
  since?: string | undefined;
  limit?: number | undefined;
  /** Asked after each page that left nothing unread; false goes on waiting for more. */
  isEnough(page: Page): boolean;
}

/** Page after page until it is enough. A page is handed on before the next is asked for. */
export async function* readPages(client: Client, { id, since, limit, isEnough }: Reading): AsyncGenerator<Page> {
  let cursor = since;
  let waitMs = 0;
  for (;;) {
    const page = await client.call('output', {
      id,
      waitMs,
      ...(cursor === undefined ? {} : { since: cursor }),
      ...(limit === undefined ? {} : { limit }),
    });
    yield page;
    if (!page.truncated && isEnough(page)) return;
    cursor = page.nextCursor;
    waitMs = page.truncated ? 0 : LONGEST_CALL_MS;
  }
}

export const untilRead = () => true;
export const untilOver = ({ status }: Page) => isOver(status);

/** Prints what it reads: a timeline, or one JSON document a line. */
export async function printEvents(cli: Cli, pages: AsyncIterable<Page>): Promise<Page | undefined> {
  let previous: LoggedEvent | undefined;
  let last: Page | undefined;
  for await (const page of pages) {
    for (const event of page.events) {
      const before = previous;
      cli.print(event, () => renderEvent(event, before, cli.style));
      previous = event;
    }
    last = page;
  }
  return last;
}
