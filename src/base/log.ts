import { capJson } from './cap.ts';
import type { Clock } from './clock.ts';
import { type Redact, redactDeep } from './redact.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const LONGEST_LINE = 16 * 1024;
const DEEPEST_FIELD = 8;

export type Level = (typeof LEVELS)[number];
export type Logger = Record<Level, (message: string, fields?: Record<string, unknown>) => void>;

interface LoggerOptions {
  /** Receives a line with its newline; must not throw. */
  write(line: string): void;
  clock: Pick<Clock, 'now'>;
  redact: Redact;
  /** The lowest level that is written, `info` by default. */
  level?: Level;
}

/** One JSON object a line: time, level, message, then the fields; redacted and bounded. Logging never throws. */
export function createLogger({ write, clock, redact, level = 'info' }: LoggerOptions): Logger {
  const log = (at: Level, message: string, fields: Record<string, unknown> = {}) => {
    if (LEVELS.indexOf(at) < LEVELS.indexOf(level)) return;
    const head = { time: clock.now().toISOString(), level: at, message };
    const entry = { ...head, ...(plain(fields, 0) as Record<string, unknown>), ...head };
    write(`${JSON.stringify(capJson(redactDeep(redact, entry), LONGEST_LINE))}\n`);
  };
  return {
    debug: (message, fields) => log('debug', message, fields),
    info: (message, fields) => log('info', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    error: (message, fields) => log('error', message, fields),
  };
}

/** Fields as JSON can say them; the depth bound ends cycles. */
function plain(value: unknown, depth: number): unknown {
  if (depth > DEEPEST_FIELD) return '…';
  if (value instanceof Error) return plain(errorFields(value), depth);
  if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (Array.isArray(value)) return value.map((child) => plain(child, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, plain(child, depth + 1)]));
}

function errorFields(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  return { ...error, name, message, stack, cause };
}

/** Passes the first report on at once, then at most one a minute: the latest, with the count since the last. */
export function limited<T>(clock: Pick<Clock, 'monotonicMs'>, emit: (latest: T, count: number) => void) {
  let last = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (latest: T): void => {
    count += 1;
    if (clock.monotonicMs() - last < 60_000) return;
    last = clock.monotonicMs();
    emit(latest, count);
    count = 0;
  };
}
