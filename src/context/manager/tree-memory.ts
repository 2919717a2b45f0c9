import { readFileSync } from 'node:fs';
import type { ProcessIdentity } from '../../process/identity.ts';
import { processRows } from '../../process/process-table.ts';

/**
 * Tells the resident megabytes of trees, as they are now: of the largest process of each, which is the server itself and not
 * the shells that hold it nor a git that comes and goes. 0 where the system does not tell; there the server's own watch is
 * the only one.
 */
export function readTreeMemory(): (tree: ProcessIdentity) => number {
  const rows = process.platform === 'linux' ? processRows().filter((row) => row.isAlive) : [];
  return ({ pid }) => {
    const members = rows.filter((row) => row.session === pid);
    return Math.max(0, ...members.map((row) => residentKb(row.pid))) / 1024;
  };
}

function residentKb(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return Number(kilobytes ?? 0);
  } catch {
    return 0; // it ended meanwhile
  }
}
