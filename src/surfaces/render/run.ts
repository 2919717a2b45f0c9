import { printable } from '../../base/printable.ts';
import { timeOfDay } from '../../base/time-of-day.ts';
import type { RunSummary } from '../../protocol/run-operations.ts';
import type { BlockStatus, HaltVerb, LogEntry, RunEvent, RunView } from '../../protocol/workflow.ts';
import { type Cell, heading, oneLine, table } from './columns.ts';
import { nextLines, stateOfRun } from './next-steps.ts';
import { duration } from './quantities.ts';
import { shortIds } from './short-names.ts';
import type { Colour, Style } from './style.ts';
import { aside } from './worktree.ts';

const COLOURS: Record<RunSummary['status'], Colour> = {
  queued: 'cyan',
  running: 'green',
  awaiting_input: 'yellow',
  halted: 'yellow',
  success: 'dim',
  failure: 'red',
  aborted: 'dim',
  broken: 'red',
};

export function runTable(runs: readonly RunSummary[], style: Style): string {
  if (runs.length === 0) return 'No runs.';
  const short = shortIds(runs.map(({ runId }) => runId));
  const rows = runs.map((run): Cell[] => [
    { text: short(run.runId) },
    { text: statusWords(run), paint: (plain) => style.paint(COLOURS[run.status], plain) },
    { text: run.block ? `${run.block}#${run.visit}` : '' },
    { text: run.endedAt === undefined ? lasted(run, style.now) : `${sinceEnd(run.endedAt, style.now)} ago` },
    { text: run.task },
  ]);
  return table([heading(['RUN', 'STATUS', 'BLOCK', 'AGE', 'TASK'], style), ...rows], style.width);
}

const sinceEnd = (endedAt: string, now: Date) => duration(now.getTime() - Date.parse(endedAt));

function lasted({ createdAt, endedAt }: RunSummary, now: Date): string {
  return duration((endedAt === undefined ? now.getTime() : Date.parse(endedAt)) - Date.parse(createdAt));
}

/** How a run ended or what it asks, and what to type next. */
export function runOutcome(run: RunSummary, view: RunView | null, style: Style): string {
  const colour = COLOURS[run.status] === 'dim' ? 'green' : COLOURS[run.status];
  const isShownBelow = (view?.halts.length ?? 0) > 0;
  const why = run.because === undefined || isShownBelow ? '' : `: ${printable(run.because)}`;
  const words = [statusWords(run), ...(run.merge ? [MERGE_WORDS[run.merge]] : [])].join(', ');
  return [
    `${style.paint(colour, words)}, after ${lasted(run, style.now)}${why}`,
    ...(run.notes ?? []).map(printable),
    ...(view ? gates({ gates: lastOf(view) }, style) : []),
    ...(run.times ? [timesLine(run.times, style)] : []),
    ...(view ? halts(run, view, style) : []),
    ...nextOf(run, view),
  ].join('\n');
}

/** What of it was Reef's own doing, or waiting, is what is left. */
function timesLine({ setUp, agents, gates, rest }: NonNullable<RunSummary['times']>, { paint }: Style): string {
  const parts = { 'set-up': setUp, agents, gates, 'Reef and waiting': rest };
  const words = Object.entries(parts).map(([name, seconds]) => `${name} ${seconds.toFixed(1)} s`);
  return `${paint('dim', 'time'.padEnd(9))} ${words.join(', ')}`;
}

function statusWords({ status, obstacle }: RunSummary): string {
  if (status === 'awaiting_input') return 'an agent asks';
  return status === 'halted' && obstacle === 'setup_failed' ? 'set-up failed' : status;
}

const MERGE_WORDS: Record<NonNullable<RunSummary['merge']>, string> = {
  merged: 'merged',
  waiting: 'not merged yet',
  not_merged: 'not merged',
};

/** A run that asks shows its questions instead, each with what answers it. */
function nextOf(run: RunSummary, view: RunView | null): string[] {
  if (run.status === 'awaiting_input' || (view?.halts.length ?? 0) > 0) return [];
  const into = run.status === 'success' && run.target === undefined ? ' --into BRANCH' : '';
  const lines = nextLines(stateOfRun(run), run.runId, run.behind);
  return ['', ...lines.map((line) => line.replace(/(reef accept \S+)/, `$1${into}`))];
}

/** The last result of each gate. */
function lastOf({ gates: all }: RunView): RunView['gates'] {
  return [...new Map(all.map((each) => [each.gate, each])).values()];
}

/** What the gates of a visit said; undefined if it had none. */
export function gateWords(
  { block, visit }: Pick<LogEntry, 'block' | 'visit'>,
  view: RunView | null,
  { paint }: Style,
): string | undefined {
  const judged = view?.gates.filter((each) => each.block === block && each.visit === visit) ?? [];
  const [only, ...more] = judged;
  if (more.length === 0) return only && gateWord(only, paint);
  return judged.map((each) => `${each.gate} ${gateWord(each, paint)}`).join(', ');
}

export const shortBlock = (block: string, visit: number) =>
  `${block.slice(block.indexOf('__') + 2)}${visit > 1 ? `#${visit}` : ''}`;

export function runDetails(run: RunSummary, view: RunView | null, style: Style): string {
  const line = (name: string, value: string | undefined) =>
    value === undefined
      ? []
      : [`${style.paint('dim', name.padEnd(9))} ${oneLine(value, Math.max(20, style.width - 10))}`];
  return [
    ...line('run', run.runId),
    ...line('status', `${statusWords(run)}, ${lasted(run, style.now)}`),
    ...line('task', run.task),
    ...line('worktree', `${run.worktree}${run.path === null ? '' : `  ${run.path}`}`),
    ...line('because', run.because),
    ...(run.notes ?? []).map((note) => `${' '.repeat(10)}${printable(note)}`),
    ...(view
      ? [
          ...['', ...graph(view, style), '', ...path(view, style), ...gates(view, style)],
          ...[...events(view, style), ...halts(run, view, style)],
        ]
      : []),
    ...nextOf(run, view),
  ].join('\n');
}

const LOOKS: Record<BlockStatus, { mark: string; colour: Colour }> = {
  pending: { mark: '·', colour: 'dim' },
  active: { mark: '▶', colour: 'cyan' },
  complete: { mark: '✔', colour: 'green' },
  failed: { mark: '✘', colour: 'red' },
  halted: { mark: '‖', colour: 'yellow' },
  skipped: { mark: '↷', colour: 'yellow' },
};

/** One line for each block, and below it one for each transition. Those that were taken are bold, with how often. */
function graph(view: RunView, { paint }: Style): string[] {
  const { visits, path: taken } = view;
  const { blocks, transitions } = view.graph;
  const steps = new Map<string, number>();
  for (const [index, { block }] of taken.entries()) {
    const next = taken[index + 1];
    if (next) steps.set(`${block} ${next.block}`, (steps.get(`${block} ${next.block}`) ?? 0) + 1);
  }
  return blocks.flatMap((block) => {
    const isUnset = view.gates.findLast((gate) => gate.block === block)?.result === 'not_run';
    const status = isUnset ? 'skipped' : (view.statuses[block] ?? 'pending');
    const count = visits[block] ?? 0;
    const note = isUnset ? '  not configured' : '';
    const head = `${paint(LOOKS[status].colour, `${LOOKS[status].mark} ${block}`)}${count > 0 ? `  ×${count}` : ''}${note}`;
    const outs = merged(transitions.filter(({ from }) => from === block));
    return [
      head,
      ...outs.map(({ to, signals }, index) => {
        const times = steps.get(`${block} ${to}`) ?? 0;
        const corner = index === outs.length - 1 ? '└' : '├';
        const arrow = times > 0 ? '━▶' : '─▷';
        const text = `  ${corner}─ ${signals.join(', ')} ${arrow} ${to}${times > 1 ? ` (${times} times)` : ''}`;
        return times > 0 ? paint('bold', text) : paint('dim', text);
      }),
    ];
  });
}

function merged(transitions: RunView['graph']['transitions']): { to: string; signals: string[] }[] {
  const byTarget = new Map<string, string[]>();
  for (const { to, signal } of transitions) {
    const signals = byTarget.get(to) ?? [];
    const name = signal.replace(/^SIGNAL:/, '');
    if (!signals.includes(name)) signals.push(name);
    byTarget.set(to, signals);
  }
  return [...byTarget].map(([to, signals]) => ({ to, signals }));
}

function path({ path: taken, executionLog, gates: judged }: RunView, { paint }: Style): string[] {
  const words = taken.map(({ block, visit, branch }) => {
    const entry = executionLog[branch === 'main' ? `${block}#${visit}` : `${branch}/${block}#${visit}`];
    const isUnset = judged.some((gate) => gate.block === block && gate.visit === visit && gate.result === 'not_run');
    const status = isUnset ? 'skipped' : (entry?.status ?? 'active');
    return paint(LOOKS[status].colour, shortBlock(block, visit));
  });
  return words.length === 0 ? [] : [`${paint('dim', 'path')}      ${words.join(' → ')}`];
}

function gates({ gates: all }: Pick<RunView, 'gates'>, { paint }: Style): string[] {
  const words = all.map((each) => `${each.gate} ${gateWord(each, paint)}`);
  return words.length === 0 ? [] : [`${paint('dim', 'gates')}     ${words.join(', ')}`];
}

function gateWord({ result, ...rest }: RunView['gates'][number], paint: Style['paint']): string {
  if (result === 'not_run') return paint('dim', 'not configured');
  const word = paint(result === 'passed' ? 'green' : result === 'failed' ? 'red' : 'yellow', result);
  return `${word}${aside(rest)}`;
}

function events({ events: all }: RunView, { paint }: Style): string[] {
  const lines = all.map((event) => `${paint('yellow', event.type)}  ${eventText(event)}`);
  return lines.length === 0 ? [] : ['', ...lines];
}

function eventText({ block, visit, slice, code, message }: RunEvent): string {
  return printable(`${block}#${visit}: ${slice === '' ? '' : `${slice}: `}${message} (${code})`);
}

/** What a halted run asks, the end of what failed, and the answers. */
function halts({ runId }: RunSummary, { halts: open }: RunView, { paint, now }: Style): string[] {
  return open.flatMap(({ message, excerpt, options, block, visit, goesOnAt }) => {
    const later = goesOnAt === undefined ? [] : [`It goes on by itself at ${timeOfDay(new Date(goesOnAt), now)}.`];
    const quoted = excerpt === undefined ? [] : printable(excerpt).trimEnd().split('\n');
    return [
      '',
      `${paint('yellow', printable(message))}  ${paint('dim', shortBlock(block, visit))}`,
      ...quoted.map((text) => `  │ ${text}`),
      ...later,
      ...haltCommands(runId, options),
    ];
  });
}

/** The commands that answer a halted run, and what each does. */
export function haltCommands(runId: string, options: readonly HaltVerb[]): string[] {
  return options.map((verb) => `  ${`reef run ${verb} ${runId}`.padEnd(runId.length + 17)}  ${VERB_WORDS[verb]}`);
}

const VERB_WORDS: Record<HaltVerb, string> = {
  approve: 'let it do this block',
  resume: 'go on; add "what it should know" at the end',
  retry: 'do this block once more',
  skip: 'go on as if the block had succeeded',
  abort: 'end the run; the worktree stays',
};
