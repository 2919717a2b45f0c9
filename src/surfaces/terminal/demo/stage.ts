import type { OperationOutput } from '../../../protocol/operations.ts';
import type { LogEntry } from '../../../protocol/workflow.ts';
import type { Client } from '../../client/client.ts';
import type { Colour, Style } from '../../render/style.ts';
import { type LoggedEvent, renderEvent } from '../../render/timeline.ts';
import type { Cli } from '../cli.ts';

/** One lane of the timeline: a run or a job, and the worktree it works in. */
export interface Lane {
  name: string;
  colour: Colour;
  worktree: string;
  /** Absent for a job without a workflow. */
  runId?: string;
}

const NAME_WIDTH = 8;
/** Bookkeeping that would only lengthen the story. */
const UNSHOWN = new Set([
  'queued',
  'turn',
  'usage',
  'session',
  'tool_result',
  'repostate.detected',
  'context.cache_miss',
]);
const UNSHOWN_TYPES = new Set(['started', 'completed', 'input_sent']);

/** Shows what all agents and blocks do as one timeline, each line in the lane of its run. */
export class Stage {
  readonly #cli: Cli;
  readonly #style: Style;
  readonly #cursors = new Map<string, string>();
  readonly #seenBlocks = new Map<string, number>();
  readonly events: LoggedEvent[] = [];

  constructor(cli: Cli) {
    this.#cli = cli;
    const start = Date.now();
    const clock = (time: Date) => `${((time.getTime() - start) / 1000).toFixed(1).padStart(6)}s`;
    this.#style = { ...cli.style, clock };
  }

  /** Prints what is new. Cursors are ours, so a new daemon is asked exactly where the old one stopped. */
  async follow(client: Client, lanes: readonly Lane[]): Promise<void> {
    const { jobs } = await client.call('status', {});
    const housed = jobs.flatMap(({ id, worktree }) => {
      const lane = lanes.find((each) => each.worktree === worktree);
      return lane ? [{ id, lane }] : [];
    });
    const pages = await Promise.all(housed.map((job) => this.#page(client, job)));
    for (const { lane, event } of pages.flat().sort((a, b) => a.event.seq - b.event.seq)) {
      this.events.push(event);
      const isShown = !UNSHOWN_TYPES.has(event.type) && !UNSHOWN.has(String(event.payload.kind));
      if (isShown) this.#print(lane, renderEvent(event, undefined, this.#style));
    }
    for (const lane of lanes) await this.#blocks(client, lane);
  }

  tell(text: string): void {
    this.#cli.out(`\n${this.#style.paint('bold', `── ${text}`)}\n`);
  }

  async #blocks(client: Client, lane: Lane): Promise<void> {
    if (lane.runId === undefined) return;
    const { view } = await client.call('run_status', { id: lane.runId });
    const ended = Object.values(view?.executionLog ?? {}).filter(({ endedAt }) => endedAt !== undefined);
    for (const entry of ended.slice(this.#seenBlocks.get(lane.runId) ?? 0)) {
      const gate = view?.gates.find(({ block, visit }) => block === entry.block && visit === entry.visit);
      this.#print(lane, `${' '.repeat(9)}${this.#blockEnd(entry, gate?.result === 'not_run')}`);
    }
    this.#seenBlocks.set(lane.runId, ended.length);
  }

  #blockEnd({ block, signal, exit }: LogEntry, isUnset: boolean): string {
    const { paint } = this.#style;
    const name = paint('bold', block.slice(block.indexOf('__') + 2));
    if (isUnset) return `${name} ${paint('dim', 'not configured here')}`;
    const isGood = signal === 'SIGNAL:SUCCESS';
    const word = signal?.replace('SIGNAL:', '').toLowerCase() ?? '';
    const said = exit === undefined || isGood ? word : `${word}, exit code ${exit.code}`;
    return `${name} ${paint(isGood ? 'green' : 'red', said)}`;
  }

  #print({ name, colour }: Lane, text: string): void {
    const margin = `${this.#style.paint(colour, name.padEnd(NAME_WIDTH))} │ `;
    this.#cli.out(
      text
        .split('\n')
        .map((line) => margin + line)
        .join('\n'),
    );
  }

  async #page(client: Client, { id, lane }: { id: string; lane: Lane }) {
    const since = this.#cursors.get(id) ?? '0';
    const page: OperationOutput<'output'> = await client.call('output', { id, since, limit: 1000 });
    this.#cursors.set(id, page.nextCursor);
    return page.events.map((event) => ({ lane, event }));
  }
}
