import type { Page } from 'playwright-core';

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** In microseconds of the clock of the machine. */
  ts: number;
  dur?: number;
  /** Of the processor, in microseconds. */
  tdur?: number;
  args: { name?: string };
}

interface Task {
  thread: string;
  isMain: boolean;
  from: number;
  to: number;
  cpuUs: number;
}

interface Traced<T> {
  seen: T;
  /** The longest task of the page's main thread, in milliseconds of processor time. */
  task: number;
  /** What the busiest thread of the page worked within the frame in which most was done, in milliseconds of processor time. */
  work: number;
}

/** Names a frame that took longer than this in the trace, with what it took. */
export const LATE_MS = 20;
const LATE = /^late ([\d.]+)$/;

/**
 * What others take of the machine makes frames late, and no thread of the page work longer: drawing, painting and putting
 * on the screen are counted as well as scripts, each in the processor time of its thread.
 */
export async function traced<T>(page: Page, work: () => Promise<T>): Promise<Traced<T>> {
  const browser = page.context().browser();
  const categories = ['toplevel', 'blink.user_timing', 'disabled-by-default-devtools.timeline'];
  await browser?.startTracing(page, { categories });
  const seen = await work();
  const { traceEvents } = JSON.parse(`${await browser?.stopTracing()}`) as { traceEvents: TraceEvent[] };
  const tasks = tasksOf(traceEvents);
  const late = traceEvents.flatMap(({ name, ts }) => {
    const took = Number(LATE.exec(name)?.[1] ?? Number.NaN);
    return Number.isNaN(took) ? [] : [{ from: ts - took * 1_000, to: ts }];
  });
  return {
    seen,
    task: Math.max(0, ...tasks.filter(({ isMain }) => isMain).map(({ cpuUs }) => cpuUs)) / 1_000,
    work: Math.max(0, ...late.map((frame) => busiest(tasks, frame))) / 1_000,
  };
}

function tasksOf(events: readonly TraceEvent[]): Task[] {
  const named = (what: string) =>
    new Map(events.filter(({ name }) => name === what).map((event) => [`${event.pid}/${event.tid}`, event.args.name]));
  const threads = named('thread_name');
  const browser = events.find(({ name, args }) => name === 'process_name' && args.name === 'Browser')?.pid;
  return events.flatMap(({ name, pid, tid, ts, dur = 0, tdur = 0 }) => {
    if (!name.endsWith('RunTask') || pid === browser) return [];
    const thread = `${pid}/${tid}`;
    return [{ thread, isMain: threads.get(thread) === 'CrRendererMain', from: ts, to: ts + dur, cpuUs: tdur }];
  });
}

/** A task that reaches into the frame counts with its part in it. */
function busiest(tasks: readonly Task[], frame: { from: number; to: number }): number {
  const byThread = new Map<string, number>();
  for (const { thread, from, to, cpuUs } of tasks) {
    const shared = Math.min(to, frame.to) - Math.max(from, frame.from);
    if (shared <= 0 || to === from) continue;
    byThread.set(thread, (byThread.get(thread) ?? 0) + (cpuUs * shared) / (to - from));
  }
  return Math.max(0, ...byThread.values());
}
