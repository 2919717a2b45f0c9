import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ChangeSignal } from '../../../events/change-signal.ts';
import { cursorBeside } from '../../../events/event-log.ts';
import type { Change } from '../../../protocol/events.ts';
import type { Caller, Core, OperationOutput } from '../../../protocol/operations.ts';
import type { Changes } from '../../../store/changes.ts';
import { FollowedRun } from './followed-run.ts';

/** What has happened, to be read by cursor; `signal` says when there is more. */
export interface News {
  changes: Pick<Changes, 'after' | 'version'>;
  signal: Pick<ChangeSignal, 'until'>;
  lastSeq(): number;
}

export interface StreamLimits {
  /** A reader that takes nothing for so long is let go. It comes back with the id of the last event it got. */
  stallMs: number;
  /** A stream with nothing to say shows that it is alive. */
  quietMs: number;
}

export const STREAM_LIMITS: StreamLimits = { stallMs: 10_000, quietMs: 15_000 };

interface Deps {
  core: Pick<Core, 'events' | 'run_follow'>;
  news: News;
  limits: StreamLimits;
}

interface Reader {
  response: ServerResponse;
  caller: Caller;
  /** Without one, from now on. */
  since: string | undefined;
  /** A run that it looks at, as it was at this `seq`. */
  run?: { id: string; after: number } | undefined;
  /** Aborted when the reader is gone, has lost its token, or the door closes. */
  signal: AbortSignal;
}

type Page = OperationOutput<'events'>;
type Place = { since: string; version: number; limit: number };

const PAGE = 200;
const CHUNK_CHARACTERS = 65_536;

/** Server-sent events. Each is read from the store when the reader has taken those before, so a slow one costs no memory. */
export async function streamEvents(deps: Deps, reader: Reader): Promise<void> {
  const { core, news, limits } = deps;
  const { response, signal, caller } = reader;
  const since = reader.since ?? String(news.lastSeq());
  let place: Place = { since, version: news.changes.version, limit: PAGE };
  const run = reader.run && followed(core, { ...reader, ...reader.run });
  // A bad cursor is refused while there is still an answer to refuse with, and a run that is not there.
  await core.events({ since, limit: 1, waitMs: 0 }, caller, signal);
  const begun = await run?.news(true);
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  if (begun) response.write(begun);
  while (!signal.aborted) {
    place = await tellNext(deps, { ...reader, run }, place);
    if (response.writableNeedDrain && !(await drained(reader, limits.stallMs))) return;
  }
  response.end();
}

function followed(core: Deps['core'], { id, after, caller, signal }: Reader & { id: string; after: number }) {
  return new FollowedRun((seq) => core.run_follow({ id, after: seq, waitMs: 0 }, caller, signal), after);
}

type Following = Omit<Reader, 'run'> & { run: FollowedRun | undefined };

/** Waits for news and writes what the reader takes of them. The rest is not kept but read again. */
async function tellNext({ core, news, limits }: Deps, reader: Following, place: Place): Promise<Place> {
  const { response, signal, caller, run } = reader;
  const look = async () => {
    const { version } = news.changes;
    const page = await core.events({ since: place.since, limit: place.limit, waitMs: 0 }, caller, signal);
    const changes = news.changes.after(place.version);
    return { version, changes, page, run: (await run?.news(changes.length > 0)) ?? '' };
  };
  const seen = await news.signal.until(look, {
    isMet: ({ changes, page, run: told }) =>
      changes.length > 0 || page.events.length > 0 || page.gap !== undefined || told !== '',
    timeoutMs: Math.min(limits.quietMs, run?.dueInMs ?? limits.quietMs),
    signal,
  });
  if (signal.aborted) return place;
  const { version, changes, page } = seen;
  const start = startOf(page, changes) + seen.run;
  if (start !== '') response.write(start);
  else if (page.events.length === 0 && run?.dueInMs === undefined) response.write(': still here\n\n');
  const { events } = page;
  const taken = await writeEvents(response, page);
  return {
    version,
    since: cursorBeside(
      page.nextCursor,
      events[taken - 1]?.seq ?? page.gap?.to ?? Number.parseInt(page.nextCursor, 10),
    ),
    // Of a page that is too much for this reader, about as many as it took.
    limit: taken < events.length ? taken : Math.min(PAGE, place.limit * 2),
  };
}

function startOf({ gap, nextCursor }: Page, changes: readonly Change[]): string {
  const skipped = gap ? `event: gap\nid: ${cursorBeside(nextCursor, gap.to)}\ndata: ${JSON.stringify(gap)}\n\n` : '';
  const changed = changes.map((change) => `event: changed\ndata: ${JSON.stringify(change)}\n\n`);
  return changed.join('') + skipped;
}

/** How many of the events the reader has taken; at least one, unless there is none. */
async function writeEvents(response: ServerResponse, { events, nextCursor }: Page): Promise<number> {
  let taken = 0;
  while (taken < events.length && !(taken > 0 && response.writableNeedDrain)) {
    let chunk = '';
    for (; taken < events.length && chunk.length < CHUNK_CHARACTERS; taken++) {
      const id = cursorBeside(nextCursor, events[taken]?.seq ?? 0);
      chunk += `event: job\nid: ${id}\ndata: ${JSON.stringify(events[taken])}\n\n`;
    }
    response.write(chunk);
    await nextTurn(); // the system takes it, if it has room
  }
  return taken;
}

/** False when the reader is gone, or took nothing for too long and is let go. */
async function drained({ response, signal }: Reader, stallMs: number): Promise<boolean> {
  try {
    await once(response, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(stallMs)]) });
    return true;
  } catch {
    response.destroy();
    return false;
  }
}
