import { type ErrorCode, errorTable } from '../../protocol/error-table.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { Queries } from '../database/database.ts';
import { cleanJson } from './clean-json.ts';
import { notify } from './notify.ts';

export interface Command {
  n: number;
  op: string;
  args: { repository: string; input: unknown };
  by: string;
}

interface Asked {
  host: string;
  repository: string;
  op: string;
  input: unknown;
  by: string;
  /** The same one again is the same command. */
  key?: string | undefined;
}

/** Stored first, then told: a host that is away finds it when it is back. */
export async function askHost(queries: Queries, { host, repository, op, input, by, key }: Asked): Promise<number> {
  const [row] = await queries.query<{ n: number }>(
    `INSERT INTO reef.command (host, op, args, by, key) SELECT id, $2, $3, $4, $5 FROM reef.host WHERE id = $1
     ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING n`,
    [host, op, cleanJson({ repository, input }), by, key ?? null],
  );
  if (!row) throw new ReefError('host_not_found', `There is no host ${host}`);
  await notify(queries, { kind: 'command', id: host });
  return row.n;
}

/** Those that are new, and those that a worker before this one took and did not end. */
export async function takeCommands(queries: Queries, host: string, doing: readonly number[]): Promise<Command[]> {
  return queries.query<Command>(
    `UPDATE reef.command SET state = 'taken' WHERE n IN (
       SELECT n FROM reef.command WHERE host = $1 AND state IN ('asked', 'taken') AND NOT n = ANY($2)
       ORDER BY n LIMIT 20 FOR UPDATE SKIP LOCKED) RETURNING n, op, args, by`,
    [host, doing],
  );
}

/** A result travels in 256 KiB pieces; base64 makes four bytes of three. */
const MOST_CHARACTERS = 400_000;

export async function endCommand(queries: Queries, n: number, end: { result: unknown } | { error: unknown }) {
  const text = 'result' in end ? cleanJson(end.result) : cleanJson(toReefError(end.error).toBody());
  const isTooLarge = text.length > MOST_CHARACTERS;
  const tooLarge = () => cleanJson(new ReefError('body_too_large', 'The answer is too large; ask for less').toBody());
  const state = 'error' in end || isTooLarge ? 'failed' : 'done';
  const set = 'UPDATE reef.command SET state = $2, result = $3, done_at = now() WHERE n = $1';
  await queries.query(set, [n, state, isTooLarge ? tooLarge() : text]);
  await notify(queries, { kind: 'result', id: String(n) });
}

/** Undefined while it is on its way. */
export async function commandResult(queries: Queries, n: number): Promise<{ value: unknown } | undefined> {
  const [row] = await queries.query<{ state: string; result: unknown }>(
    'SELECT state, result FROM reef.command WHERE n = $1',
    [n],
  );
  if (row?.state === 'done') return { value: row.result };
  if (row?.state !== 'failed') return undefined;
  const { error } = row.result as { error: { code: string; message: string } };
  const code = Object.hasOwn(errorTable, error.code) ? (error.code as ErrorCode) : 'internal';
  throw new ReefError(code, error.message);
}
