import { printable } from '../../base/printable.ts';
import type { HomePruning } from '../../protocol/record-operations.ts';
import { type Cell, table } from './columns.ts';
import type { Style } from './style.ts';

const MIB = 1_048_576;

/** What went, or would go, and how much the home has. */
export function homePruning({ entries, leftOut, bytes, limits }: HomePruning, style: Style): string {
  const rows = entries.map(({ outcome, bytes: own, endedAt, reason, kind, id, title }): Cell[] => [
    { text: outcome.replace('_', ' ') },
    { text: mib(own) },
    { text: endedAt.slice(0, 10) },
    { text: reason === 'age' ? 'old' : 'too much' },
    { text: `${kind} ${id}  ${printable(title)}` },
  ]);
  const list = rows.length > 0 ? [table(rows, style.width)] : ['Nothing to remove.'];
  const more = leftOut > 0 ? [`${leftOut} more.`] : [];
  const kept = `The home has ${mib(bytes)}. Tasks are kept for ${limits.days} days after their end, and above ${mib(limits.bytes)} the oldest go earlier.`;
  return [...list, ...more, kept].join('\n');
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
