import type { Page } from 'playwright-core';

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Of the processor, in microseconds. */
  tdur?: number;
  args: { name?: string };
}

interface Traced<T> {
  seen: T;
  /** The longest task of the page's main thread, in milliseconds of processor time. */
  task: number;
  /** The longest of any thread that works for the page: layout, painting and putting on the screen are counted as well. */
  anyTask: number;
}

/** What others take of the machine meanwhile makes frames late, and no task longer: tasks are counted in processor time. */
export async function traced<T>(page: Page, work: () => Promise<T>): Promise<Traced<T>> {
  const browser = page.context().browser();
  await browser?.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  const seen = await work();
  const { traceEvents } = JSON.parse(`${await browser?.stopTracing()}`) as { traceEvents: TraceEvent[] };
  const isNamed = (what: string, name: string) => (event: TraceEvent) =>
    event.name === what && event.args.name === name;
  const mains = traceEvents.filter(isNamed('thread_name', 'CrRendererMain'));
  const program = traceEvents.find(isNamed('process_name', 'Browser'))?.pid;
  const tasks = traceEvents.filter(({ name, pid }) => name.endsWith('RunTask') && pid !== program);
  const longest = (some: readonly TraceEvent[]) => Math.max(0, ...some.map(({ tdur = 0 }) => tdur)) / 1_000;
  const isMain = ({ pid, tid }: TraceEvent) => mains.some((main) => main.pid === pid && main.tid === tid);
  return { seen, task: longest(tasks.filter(isMain)), anyTask: longest(tasks) };
}
