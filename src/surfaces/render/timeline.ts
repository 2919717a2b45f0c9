import { printable } from '../../base/printable.ts';
import type { OperationOutput } from '../../protocol/operations.ts';
import { Payload } from './payload.ts';
import { type Entry, progressEntry, times, usageWords } from './progress.ts';
import { duration } from './quantities.ts';
import { commandText } from './question.ts';
import { sandboxWords } from './sandbox.ts';
import type { Style } from './style.ts';

export type LoggedEvent = OperationOutput<'output'>['events'][number];

const DIFF_LINES = 20;
/** As wide as the time and the mark of an event. */
export const GUTTER = ' '.repeat('12:34:56 m '.length);

/** One event, with its time unless it continues the text of the event before. */
export function renderEvent(event: LoggedEvent, previous: LoggedEvent | undefined, style: Style): string {
  const payload = new Payload(event.payload);
  const entry = ENTRIES[event.type](payload);
  const indent = payload.text('parent') ? '  ' : '';
  const [first = '', ...rest] = shownLines(entry).map((line) => indent + colour(entry, line, style));
  const head = isContinued(event, previous)
    ? GUTTER
    : `${style.paint('dim', style.clock(new Date(event.timestamp)))} ${colour(entry, entry.mark, style)} `;
  return [head + first, ...rest.map((line) => GUTTER + line)].map((line) => line.trimEnd()).join('\n');
}

export function renderEvents(events: readonly LoggedEvent[], style: Style): string {
  const shown = events.filter((event, index) => !isRetry(event) || !isRetry(events[index + 1]));
  return shown.map((event, index) => renderEvent(event, shown[index - 1], style)).join('\n');
}

/** A series of them is one line: each says its number. */
const isRetry = (event: LoggedEvent | undefined) => event?.type === 'progress' && event.payload.kind === 'retry';

/** Said by the status of a job as well. */
export const BOOKKEEPING: ReadonlySet<string> = new Set([
  ...['queued', 'session', 'turn', 'usage'],
  ...['context.cache_miss', 'context.rolled'],
]);

/** With which an agent ends its block: the line of the block says it. */
const SIGNAL = /\bSIGNAL:\w+$/;

/** What an agent did or said, for a place that has one line for it; undefined if it is not worth one. */
export function eventLine(event: LoggedEvent, previous: LoggedEvent | undefined): Entry | undefined {
  const payload = new Payload(event.payload);
  const kind = payload.text('kind');
  const isQuiet = event.type === 'completed' || (kind === 'tool_result' && payload.is('ok'));
  if (
    isQuiet ||
    (event.type === 'progress' && (BOOKKEEPING.has(kind) || kind === 'thinking')) ||
    isContinued(event, previous) ||
    (isRetry(event) && isRetry(previous))
  )
    return undefined;
  const entry = ENTRIES[event.type](payload);
  const text = event.type === 'file_edit' ? entry.text.split('\n', 1)[0] : entry.text.trim();
  return { ...entry, text: `${entry.mark} ${text?.replace(SIGNAL, '')}`.trim() };
}

const ENTRIES: Record<LoggedEvent['type'], (payload: Payload) => Entry> = {
  started,
  progress: progressEntry,
  tool_call: toolCall,
  file_edit: fileEdit,
  needs_input: needsInput,
  input_sent: inputSent,
  error: failed,
  completed,
};

function started(p: Payload): Entry {
  const sandbox = sandboxWords(p.text('sandbox'));
  const where = sandbox === undefined ? '' : `, ${sandbox}`;
  const verb = p.is('resumed') ? 'resumed' : 'started';
  return { mark: '▶', text: `${p.text('agent')} ${verb} in ${p.text('cwd')}${where}`, colour: 'bold' };
}

/** The daemon serves one user: a uid is whoever reads this. */
function whoSaid(by: string): string {
  return by.startsWith('uid:') ? 'you' : by;
}

function toolCall(p: Payload): Entry {
  const command = p.text('tool') === 'shell' ? commandText(p.object('input').get('command')) : undefined;
  if (command !== undefined) return { mark: '$', text: command, colour: 'cyan' };
  return { mark: '→', text: p.text('title') || p.text('name'), colour: 'cyan' };
}

function fileEdit(p: Payload): Entry {
  const from = p.text('from') ? `${p.text('from')} → ` : '';
  const where = p.is('outside') ? ' (outside the working folder)' : '';
  const diff = p.text('diff').trimEnd();
  const text = `${p.text('kind')} ${from}${p.text('path')}${where}${diff ? `\n${diff}` : ''}`;
  return { mark: '±', text, colour: 'green', lines: DIFF_LINES };
}

function needsInput(p: Payload): Entry {
  const command = commandText(p.object('input').get('command'));
  const options = p.texts('options').map((label, index) => `  ${index + 1}  ${label}`);
  const lines = [p.text('question'), ...(command === undefined ? [] : [`$ ${command}`])];
  return {
    mark: '?',
    text: [...lines, ...(p.text('kind') === 'permission' ? [] : options)].join('\n'),
    colour: 'yellow',
  };
}

function inputSent(p: Payload): Entry {
  const said = p.text('decision') || p.texts('option').join(', ') || p.text('text');
  const again = p.is('maybe_repeated') ? ' (perhaps a second time)' : '';
  return { mark: '‹', text: `${whoSaid(p.text('by'))}: ${said}${again}`, colour: 'bold' };
}

function failed(p: Payload): Entry {
  const tail = p.text('stderrTail').trimEnd();
  const message = p.is('repeats') ? 'the agent ended with this error' : p.text('message');
  const text = `${p.text('code')}: ${message}${times(p.number('count'))}${tail ? `\n${tail}` : ''}`;
  return { mark: '✗', text, colour: p.is('fatal') ? 'red' : 'yellow' };
}

function completed(p: Payload): Entry {
  if (p.text('scope') === 'turn') {
    return { mark: '·', text: `turn ${p.text('outcome')}, ${usageWords(p.object('usage'))}`, colour: 'dim' };
  }
  const took = p.number('durationMs');
  const head = `${p.text('outcome')}${took === undefined ? '' : ` after ${duration(took)}`}`;
  const result = p.text('result').trimEnd();
  return { mark: '■', text: result ? `${head}\n${result}` : head, colour: 'bold' };
}

function shownLines({ text, lines }: Entry): string[] {
  const all = printable(text).trimEnd().split('\n');
  if (lines === undefined || all.length <= lines + 1) return all;
  return [...all.slice(0, lines), `… ${all.length - lines} more lines`];
}

/** Lines of a diff are coloured by their sign, other lines by the kind of event. */
function colour(entry: Entry, text: string, { paint }: Style): string {
  if (text === '') return text;
  if (entry.mark === '±' && text !== entry.mark) {
    if (text.startsWith('+')) return paint('green', text);
    if (text.startsWith('-')) return paint('red', text);
    return text;
  }
  return entry.colour ? paint(entry.colour, text) : text;
}

/** The same voice goes on. */
export function isContinued(event: LoggedEvent, previous: LoggedEvent | undefined): boolean {
  if (event.type !== 'progress' || previous?.type !== 'progress') return false;
  const { kind, parent } = event.payload;
  return (
    (kind === 'text' || kind === 'thinking') && previous.payload.kind === kind && previous.payload.parent === parent
  );
}
