import { readFileSync } from 'node:fs';
import { timed } from '../measure.ts';

/** Of Linux's clock for processes, which every distribution sets to a hundred a second. */
const TICK_MS = 10;

/** What a process has used, its threads and the children it has waited for included: other work on the machine is not in it. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name may hold anything, blanks and brackets too.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
  return (user + system + childUser + childSystem) * TICK_MS;
}

/** By processor, threads and all, and by clock. */
export interface Spent {
  cpu: number;
  elapsed: number;
}

/** A process, or several one after the other. */
type Worker = number | { cpuMs(): number };

function used(by: Worker): number {
  return typeof by === 'number' ? cpuMs(by) : by.cpuMs();
}

export async function spentBy(by: Worker, work: () => Promise<unknown>): Promise<Spent> {
  const before = used(by);
  const elapsed = await timed(work);
  return { cpu: used(by) - before, elapsed };
}

/** Mean of several runs, for a tick is longer than most questions take. */
export async function meanCpu(
  by: Worker,
  times: number,
  work: (at: number) => Promise<unknown> | unknown,
): Promise<number> {
  const before = used(by);
  for (let at = 0; at < times; at++) await work(at);
  return (used(by) - before) / times;
}
