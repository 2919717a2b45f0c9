import { printable, withoutColours } from '../../base/printable.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import type { LogEntry, RunView } from '../../protocol/workflow.ts';
import { oneLine } from './columns.ts';
import { gateWords, shortBlock } from './run.ts';
import type { Style } from './style.ts';
import { eventLine, type LoggedEvent } from './timeline.ts';

type Page = OperationOutput<'output'>;

interface RunLogDeps {
  style: Style;
  /** The events of a job after a cursor, without waiting. */
  read(jobId: string, since: string | undefined): Promise<Page>;
}

/** The end of a gate's log: enough to see what failed. */
const FAILING_LINES = 12;
/** Of Node and of a Java VM: where it went through on its way, below what happened. */
const STACK_FRAME = /^ {4}at .*[:)]/;
const INDENT = '    ';

/** What goes on in a run, as it happens or afterwards: its blocks, what their agents do in a line each, gates with their seconds. */
export class RunLog {
  readonly #deps: RunLogDeps;
  readonly #begun = new Set<string>();
  readonly #ended = new Map<string, string>();
  readonly #cursors = new Map<string, string>();
  readonly #last = new Map<string, LoggedEvent>();
  #because: string | undefined;
  /** Events of the run. */
  #told = 0;
  #path: string | null = null;

  constructor(deps: RunLogDeps) {
    this.#deps = deps;
  }

  /** The lines that are new since the last call. */
  async *news({ runs: [run], view }: OperationOutput<'run_status'>): AsyncGenerator<string> {
    if (run && !view && run.because !== undefined && run.because !== this.#because) yield `· ${printable(run.because)}`;
    this.#because = run?.because;
    this.#path = run?.path ?? this.#path;
    for (const { type, message } of view?.events.slice(this.#told) ?? [])
      if (type === 'agent_changed') yield this.#deps.style.paint('yellow', `! ${printable(message)}`);
    this.#told = view?.events.length ?? this.#told;
    for (const [key, entry] of Object.entries(view?.executionLog ?? {})) yield* this.#visit(key, entry, view);
  }

  /** The jobs that are at work on a block. */
  static atWork(view: RunView | null): string[] {
    const entries = Object.values(view?.executionLog ?? {});
    return entries.flatMap(({ status, jobId }) => (status === 'active' && jobId !== undefined ? [jobId] : []));
  }

  async *#visit(key: string, entry: LogEntry, view: RunView | null): AsyncGenerator<string> {
    const { style } = this.#deps;
    const name = shortBlock(entry.block, entry.visit);
    const isOver = entry.endedAt !== undefined;
    if (isOver && this.#ended.get(key) === entry.endedAt) return;
    if (!this.#begun.has(key)) yield style.paint('bold', `▶ ${name}`);
    this.#begun.add(key);
    if (entry.jobId !== undefined) yield* this.#agent(entry.jobId);
    if (!isOver) return;
    this.#ended.set(key, entry.endedAt ?? '');
    yield* ending(entry, view, style);
  }

  /** The folder of the worktree is long and the same on every line. */
  #inWorktree(text: string): string {
    const path = this.#path;
    return path === null ? text : text.replaceAll(`${path}/`, '').replaceAll(path, 'its worktree');
  }

  async *#agent(jobId: string): AsyncGenerator<string> {
    const { style, read } = this.#deps;
    const room = Math.max(20, style.width - INDENT.length);
    for (;;) {
      const page = await read(jobId, this.#cursors.get(jobId));
      this.#cursors.set(jobId, page.nextCursor);
      for (const event of withoutSettled(page.events)) {
        // A worktree that is gone has no path any more; the agent was started in it.
        if (event.type === 'started') this.#path ??= String(event.payload.cwd);
        const line = eventLine(event, this.#last.get(jobId));
        this.#last.set(jobId, event);
        if (line) yield INDENT + style.paint(line.colour ?? 'dim', oneLine(this.#inWorktree(line.text), room));
      }
      if (!page.truncated) return;
    }
  }
}

/** Nobody was asked what Reef allowed at once. */
function withoutSettled(events: readonly LoggedEvent[]): LoggedEvent[] {
  const settled = events.flatMap(({ payload }) => (payload.kind === 'auto_answered' ? [payload.questionId] : []));
  return events.filter(({ payload }) => payload.questionId === undefined || !settled.includes(payload.questionId));
}

/** Of a gate its own, and beside them those of the set-up that had to come first. */
function secondsOf({ spent, took }: LogEntry): string {
  const own = took?.gate ?? spent?.seconds ?? 0;
  const before = took !== undefined && took.setUp >= 1 ? ` (set-up ${took.setUp.toFixed(1)} s)` : '';
  return own > 0 ? `, ${own.toFixed(1)} s${before}` : before;
}

/** A signal as a person says it. */
function saidWord(signal: string): string {
  const name = signal.replace(/^SIGNAL:/, '');
  return name === 'VALIDATION_FAIL' ? 'its answer could not be used' : name.toLowerCase().replaceAll('_', ' ');
}

function* ending(entry: LogEntry, view: RunView | null, style: Style): Generator<string> {
  const { block, visit, signal, status, segments } = entry;
  const seconds = secondsOf(entry);
  const word = signal === undefined ? status : saidWord(signal);
  const judged = view?.gates.filter((each) => each.block === block && each.visit === visit) ?? [];
  const isUnset = judged.length > 0 && judged.every(({ result }) => result === 'not_run');
  const isFailedGate = judged.some(({ result }) => result === 'failed');
  // It failed before the change as well, so the run goes on: neither a success nor a failure of it.
  const isPassedOver = isFailedGate && status === 'complete';
  const mark = isUnset || isPassedOver ? style.paint('dim', '–') : markOf(status, style);
  yield `${mark} ${shortBlock(block, visit)}  ${gateWords(entry, view, style) ?? word}${isUnset ? '' : seconds}`;
  if (!isFailedGate) return;
  // Where it halts, the question below shows them.
  const isAsked = view?.halts.some((halt) => halt.block === block && halt.visit === visit);
  // The line above names what failed before the change.
  const shown = isAsked ? [] : segments.filter(({ type }) => type !== 'ALREADY_FAILING');
  for (const segment of shown) {
    const lines = printable(withoutColours(segment.tail ?? segment.head))
      .trimEnd()
      .split('\n')
      .filter((line) => !STACK_FRAME.test(line));
    yield* lines.slice(-FAILING_LINES).map((line) => `${INDENT}│ ${line}`);
  }
  yield `${INDENT}all of it: reef run log ${view?.runId} ${shortBlock(block, 1)}`;
}

function markOf(status: LogEntry['status'], style: Style): string {
  return status === 'complete' ? style.paint('green', '✔') : style.paint('red', '✘');
}

/** Everything that a visit of a block left. */
export function visitText({ block, visit, text }: OperationOutput<'run_log'>['visits'][number], style: Style): string {
  return `${style.paint('bold', shortBlock(block, visit))}\n${printable(withoutColours(text)).trimEnd()}`;
}
