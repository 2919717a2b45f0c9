import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import type { Queries } from '../database/database.ts';

export const CHANNEL = 'reef';

const noticeSchema = z.object({
  kind: z.enum(['event', 'command', 'result', 'answer', 'question', 'run', 'host', 'token']),
  id: z.string(),
});
export type Notice = z.infer<typeof noticeSchema>;

/** A hint that is told when the transaction commits. Whoever misses it looks again in any case. */
export async function notify(queries: Queries, notice: Notice): Promise<void> {
  await queries.query('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(notice)]);
}

/** Undefined for what another version says. */
export function parseNotice(payload: string): Notice | undefined {
  const json = parseJson(payload);
  return json.ok ? noticeSchema.safeParse(json.value).data : undefined;
}
