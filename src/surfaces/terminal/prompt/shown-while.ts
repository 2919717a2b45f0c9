import { systemClock } from '../../../base/clock.ts';
import { oneLine } from '../../render/columns.ts';
import { duration } from '../../render/quantities.ts';
import type { Cli } from '../cli.ts';

const EVERY_MS = 1_000;
const CLEAR = '\r\u001b[K';

/** At a terminal, a line says what is being done and for how long, and goes when it is over. */
export async function shownWhile<T>(
  { host: { stderr }, style, json }: Pick<Cli, 'host' | 'style' | 'json'>,
  words: string,
  work: Promise<T>,
): Promise<T> {
  if (!stderr.isTTY || json) return work;
  const start = systemClock.monotonicMs();
  const show = () => {
    const line = `  ${words} … ${duration(systemClock.monotonicMs() - start)}`;
    stderr.write(`${CLEAR}${oneLine(line, style.width - 1)}`);
  };
  show();
  const timer = setInterval(show, EVERY_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    stderr.write(CLEAR);
  }
}
