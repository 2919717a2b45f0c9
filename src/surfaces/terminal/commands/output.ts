import { ReefError } from '../../../protocol/errors.ts';
import { isOver } from '../../../protocol/is-over.ts';
import type { OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { type LoggedEvent, renderEvent } from '../../render/timeline.ts';
import type { Timeline } from '../answer/answer-timeline.ts';
import type { Cli, Command } from '../cli.ts';
import type { RawOptions } from './raw-output.ts';

interface OutputOptions extends RawOptions {
  since?: string;
  limit?: number;
  follow?: true;
  raw?: true;
}

export const output: Command<OutputOptions> = async (cli, [id = ''], options) => {
  if (options.raw) return raw(cli, id, options);
  const { since, limit, follow } = options;
  const client = cli.client();
  if (follow) {
    await printEvents(cli, readPages(client, { id, since, limit, isEnough: untilOver }));
    return 0;
  }
  if (!cli.json && limit === undefined) {
    const last = await printEvents(cli, readPages(client, { id, since, isEnough: untilRead }));
    if (last) cli.talk(`${last.status}. To print only what comes next: --since ${last.nextCursor}`);
    return 0;
  }
  const page = await client.call('output', { id, since, limit });
  if (cli.json) cli.out(JSON.stringify(page));
  else await printEvents(cli, [page]);
  if (!cli.json && page.truncated) cli.talk(`There is more. To print it: --since ${page.nextCursor}`);
  return 0;
};

async function raw(cli: Cli, id: string, { since, limit, follow, raw: _, ...range }: OutputOptions): Promise<number> {
  if (since !== undefined || limit !== undefined || follow) {
    throw new ReefError('bad_request', '--raw prints bytes, not events: leave out --since, --limit and --follow');
  }
  const { printRaw } = await import('./raw-output.ts');
  return printRaw(cli, id, range);
}

export type Page = OperationOutput<'output'>;

/** The daemon keeps no call waiting longer than this. */
export const LONGEST_CALL_MS = 45_000;

interface Reading {
  id: string;
  since?: string | undefined;
  limit?: number | undefined;
  /** Asked after each page that left nothing unread. False: wait for more. */
  isEnough(page: Page): boolean;
}

/** Reads page after page until it is enough. A page is passed on before the next one is requested. */
export async function* readPages(client: Client, { id, since, limit, isEnough }: Reading): AsyncGenerator<Page> {
  let cursor = since;
  let waitMs = 0;
  for (;;) {
    const page = await client.call('output', { id, waitMs, since: cursor, limit });
    yield page;
    if (!page.truncated && isEnough(page)) return;
    cursor = page.nextCursor;
    waitMs = page.truncated ? 0 : LONGEST_CALL_MS;
  }
}

export const untilRead = () => true;
export const untilOver = ({ status }: Page) => isOver(status);

/** Prints a timeline, or one JSON document per line. */
export async function printEvents(cli: Cli, pages: AsyncIterable<Page> | Iterable<Page>): Promise<Page | undefined> {
  const timeline = (await openTimeline(cli)) ?? asWritten(cli);
  let previous: LoggedEvent | undefined;
  let last: Page | undefined;
  const print = (lines: string[]) => lines.forEach(cli.out);
  for await (const page of pages) {
    for (const event of page.events) {
      print(await timeline.lines(event, previous));
      previous = event;
    }
    if (!page.truncated) print(await timeline.rest());
    last = page;
  }
  return last;
}

/** At a terminal with colours what the agent says is rendered. */
async function openTimeline(cli: Cli): Promise<Timeline | undefined> {
  if (cli.json || cli.host.stdout.isTTY !== true || cli.env.noColor) return undefined;
  const { openAnswerTimeline } = await import('../answer/answer-timeline.ts');
  return openAnswerTimeline(cli);
}

function asWritten({ json, style }: Cli): Timeline {
  return {
    lines: async (event, previous) => [json ? JSON.stringify(event) : renderEvent(event, previous, style)],
    rest: async () => [],
  };
}
