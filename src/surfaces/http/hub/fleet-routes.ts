import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Hono } from 'hono';
import { onFirstUse } from '../../../base/lazily.ts';
import type { Logger } from '../../../base/log.ts';
import { ChangeSignal } from '../../../events/change-signal.ts';
import type { Database } from '../../../fleet/database/database.ts';
import type { FleetAccess } from '../../../fleet/hub/fleet-tokens.ts';
import { listHosts, listRepositories, listRuns } from '../../../fleet/hub/fleet-view.ts';
import { newestCursor, readEvents } from '../../../fleet/store/fleet-events.ts';
import { openQuestions } from '../../../fleet/store/inbox.ts';
import { CHANNEL } from '../../../fleet/store/notify.ts';
import { type Env, untilOut } from '../door/routes.ts';

interface Deps {
  database: Database;
  log: Logger;
}

const PAGE = 200;
const STALL_MS = 10_000;
const QUIET_MS = 5_000;
const NOT_STORED = { 'cache-control': 'no-store' };

/** What a home has not: its hosts, the runs of all repositories, and events in the order of the fleet. */
export function addFleetRoutes(app: Hono<Env>, { database, log }: Deps, closing: AbortSignal): void {
  const scopeOf = (access: Env['Variables']['access']) => (access as FleetAccess).person?.repositories ?? undefined;
  app.get('/v1/fleet', async (c) => {
    const repositories = scopeOf(c.var.access);
    const [hosts, runs, questions, all] = await Promise.all([
      listHosts(database),
      listRuns(database, { repositories }),
      openQuestions(database, repositories),
      listRepositories(database),
    ]);
    const mine = all.filter(({ id }) => repositories === undefined || repositories.includes(id));
    return c.json({ hosts, runs, questions, repositories: mine, by: c.var.access.by }, 200, NOT_STORED);
  });
  const news = new ChangeSignal();
  const hears = onFirstUse(() => database.listen(CHANNEL, () => news.notify()));
  app.get('/v1/events', async (c) => {
    await hears();
    const since = c.req.header('last-event-id') ?? c.req.query('since');
    const after = since ?? (await newestCursor(database));
    const repositories = scopeOf(c.var.access);
    // A bad cursor is refused while there is still an answer to refuse with.
    await readEvents(database, { after, limit: 1, ...(repositories && { repositories }) });
    const response = c.env.outgoing as ServerResponse;
    const signal = untilOut(c, closing);
    await stream(response, { database, after, repositories, signal, news }).catch((error: unknown) => {
      if (!signal.aborted) log.warn('an event stream broke off', { error });
      response.destroy();
    });
    return RESPONSE_ALREADY_SENT;
  });
}

interface Reading {
  database: Database;
  after: string;
  repositories: string[] | undefined;
  signal: AbortSignal;
  news: ChangeSignal;
}

/** Events of all hosts; the id of each batch is the cursor behind it. Whoever takes nothing is let go. */
async function stream(
  response: ServerResponse,
  { database, after, repositories, signal, news }: Reading,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no', ...NOT_STORED });
  response.flushHeaders();
  for (let cursor = after; !signal.aborted; ) {
    const heard = news.next(QUIET_MS, signal);
    const page = await readEvents(database, { after: cursor, limit: PAGE, ...(repositories && { repositories }) });
    const [last] = page.events.slice(-1);
    const lines = page.events.map((event) => {
      const id = event === last ? `id: ${page.cursor}\n` : '';
      const told = { ...event, agentId: event.job, timestamp: event.at };
      return `event: job\n${id}data: ${JSON.stringify(told)}\n\n`;
    });
    cursor = page.cursor;
    response.write(lines.length > 0 ? lines.join('') : 'event: changed\ndata: {"kind":"inbox"}\n\n');
    if (response.writableNeedDrain) {
      await once(response, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(STALL_MS)]) });
    }
    if (page.events.length < PAGE) await heard;
  }
  response.end();
}
