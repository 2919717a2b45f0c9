import { ReefError } from '../../protocol/errors.ts';
import type { Usage } from '../../protocol/jobs.ts';

const UNITS = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'm', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** `45s`, `30m`, `2h`, `1d`, or whole seconds. */
export function parseDuration(text: string, option: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text);
  if (!match) throw new ReefError('bad_request', `${option}: expected a time such as 45s, 30m or 2h, not "${text}"`);
  return Number(match[1]) * (UNITS.find(({ name }) => name === match[2])?.ms ?? 1_000);
}

export function parseSeconds(text: string | undefined, option: string): number | undefined {
  return text === undefined ? undefined : parseDuration(text, option) / 1_000;
}

/** Only the two largest units: 2h05m, 45s. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${pad(seconds % 60)}s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h${pad(Math.floor((seconds % 3_600) / 60))}m`;
  return `${Math.floor(seconds / 86_400)}d${pad(Math.floor((seconds % 86_400) / 3_600))}h`;
}

export function tokens({ input, output, cacheRead, cacheWrite, partial }: Usage): string {
  const total = input + output + cacheRead + cacheWrite;
  if (total === 0) return '–';
  return (partial ? '≥' : '') + short(total);
}

/** A dash, not $0, where the agent reports no cost. */
export function cost({ costUsd }: Usage): string {
  if (costUsd === null) return '–';
  return costUsd > 0 && costUsd < 0.01 ? '<$0.01' : `$${costUsd.toFixed(2)}`;
}

export function short(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 999_950) return `${(count / 1_000).toFixed(1)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}
