import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../../../app/figures.ts';
import { systemClock } from '../../../base/clock.ts';
import { onFirstUse } from '../../../base/lazily.ts';
import { jobStatusSchema } from '../../../protocol/jobs.ts';
import type { Caller, Core, OperationOutput } from '../../../protocol/operations.ts';

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

interface Deps {
  core: Pick<Core, 'usage'>;
  caller: Caller;
  figures(): Promise<Figures>;
  version: string;
}

type Sample = [labels: Record<string, string>, value: number];

interface Metric {
  name: string;
  type: 'gauge' | 'counter';
  help: string;
  samples: Sample[];
}

const RESOLUTION_MS = 20;
const FIRST_LOOK_MS = 200;
const MOST_AGENTS = 100;
const TOKEN_KINDS = ['input', 'output', 'cacheRead', 'cacheWrite'] as const;

/** The figures of a home as text that Prometheus reads. Only who asks gets them; the event loop is watched from the first time on. */
export class Metrics {
  readonly #deps: Deps;
  readonly #loop = onFirstUse(async () => {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
    await sleep(FIRST_LOOK_MS);
    return histogram;
  });
  #watched: IntervalHistogram | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async text(signal: AbortSignal): Promise<string> {
    const { core, caller, figures, version } = this.#deps;
    this.#watched = await this.#loop();
    const used = await core.usage({ by: 'agent', limit: MOST_AGENTS }, caller, signal);
    const metrics = [...ofProcess(this.#watched, version), ...ofHome(await figures()), ...ofAgents(used)];
    this.#watched.reset();
    return metrics.map(rendered).join('');
  }

  close(): void {
    this.#watched?.disable();
  }
}

const one = (value: number): Sample[] => [[{}, value]];

function ofHome({ jobs, runs, events, questions, gates, databaseBytes, homeBytes }: Figures): Metric[] {
  const { open, oldestAskedAt } = questions;
  const age = oldestAskedAt === undefined ? 0 : (systemClock.now().getTime() - Date.parse(oldestAskedAt)) / 1_000;
  const by = (label: string, counts: Iterable<[string, number]>) =>
    [...counts].map(([name, count]): Sample => [{ [label]: name }, count]);
  const statuses = jobStatusSchema.options.map((status): [string, number] => [status, jobs[status] ?? 0]);
  return [
    { name: 'reef_jobs', type: 'gauge', help: 'Jobs by status', samples: by('status', statuses) },
    { name: 'reef_runs', type: 'gauge', help: 'Runs by state', samples: by('state', Object.entries(runs)) },
    { name: 'reef_events_total', type: 'counter', help: 'Events of all jobs', samples: one(events) },
    { name: 'reef_questions_open', type: 'gauge', help: 'Questions that wait for an answer', samples: one(open) },
    {
      name: 'reef_question_oldest_seconds',
      type: 'gauge',
      help: 'How long the oldest open question has waited',
      samples: one(Math.max(0, age)),
    },
    {
      name: 'reef_gate_verdicts_total',
      type: 'counter',
      help: 'What gates said',
      samples: gates.map(({ gate, result, count }): Sample => [{ gate, result }, count]),
    },
    { name: 'reef_database_bytes', type: 'gauge', help: 'The database with its log', samples: one(databaseBytes) },
    {
      name: 'reef_home_bytes',
      type: 'gauge',
      help: 'All files of the home, measured once a minute',
      samples: one(homeBytes),
    },
  ];
}

function ofAgents({ rows }: OperationOutput<'usage'>): Metric[] {
  const tokens = rows.flatMap((row) => TOKEN_KINDS.map((kind): Sample => [{ agent: row.key, kind }, row[kind]]));
  const costs = rows.flatMap(({ key, costUsd }): Sample[] => (costUsd === null ? [] : [[{ agent: key }, costUsd]]));
  return [
    { name: 'reef_tokens_total', type: 'counter', help: 'Tokens that agents used', samples: tokens },
    { name: 'reef_cost_usd_total', type: 'counter', help: 'What agents cost, as far as it is known', samples: costs },
  ];
}

function ofProcess(loop: IntervalHistogram, version: string): Metric[] {
  // It counts from one look to the next, so a delay is over what it was to be.
  const delay = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3);
  const quantile = (q: number): Sample => [{ quantile: String(q) }, delay(loop.percentile(q * 100))];
  return [
    { name: 'reef_info', type: 'gauge', help: 'The version of the daemon', samples: [[{ version }, 1]] },
    {
      name: 'reef_event_loop_delay_seconds',
      type: 'gauge',
      help: 'How late the daemon was since the last reading',
      samples: [quantile(0.5), quantile(0.99), quantile(1)],
    },
    {
      name: 'process_resident_memory_bytes',
      type: 'gauge',
      help: 'Memory of the daemon',
      samples: one(process.memoryUsage.rss()),
    },
    { name: 'process_uptime_seconds', type: 'gauge', help: 'Age of the daemon', samples: one(process.uptime()) },
  ];
}

function rendered({ name, type, help, samples }: Metric): string {
  const lines = samples.map(([labels, value]) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
