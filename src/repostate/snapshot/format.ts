import type { Redact } from '../../base/redact.ts';
import type { FileMeta, RepoState, Task } from '../../protocol/repostate.ts';
import { describeType } from './file-type.ts';
import { cutTo, elide, oneLine } from './one-line.ts';

interface FormatOptions {
  /** Characters ÷ 3 by default, which is more than the true count. */
  count?: (text: string) => number;
  redact?: Redact;
  /** Whose prompt it is: turns of other jobs in the checkout are marked as theirs. Undefined for a reader without turns. */
  jobId?: string;
  /** Of the prompt: its epoch, the turn of the snapshot, and the turns that are only artifacts now. */
  epoch?: { n: number; turn: number; earlier?: readonly [first: number, last: number] };
  /** Best first. As many as fit are shown. */
  names?: readonly string[];
  /** The snapshot shrinks to this many tokens if it can. */
  target?: number;
}

const TARGET = 500;
const HARD_CAP = 800;
const NAMES_TOKENS = 200;

const FULL = { names: 1, runs: 6, read: 12, notes: 5, changed: 20, task: 120, path: 80, remark: 160 };
type Detail = typeof FULL;

/** The steps in which detail is reduced, in order. */
const TO_TARGET: readonly Partial<Detail>[] = [
  ...[0.75, 0.5, 0.25, 0].map((names) => ({ names })),
  ...[5, 4, 3, 2].map((runs) => ({ runs })),
  ...[8, 4, 2].map((read) => ({ read })),
  ...[4, 3, 2].map((notes) => ({ notes })),
  ...[18, 16, 14, 12].map((changed) => ({ changed })),
  ...[90, 60].map((task) => ({ task })),
];
/** Further steps, only to stay under the hard cap: what is never dropped gets shorter. */
const TO_CAP: readonly Partial<Detail>[] = [
  { runs: 0, read: 0, notes: 1 },
  { path: 48, task: 40, remark: 80, notes: 0 },
  { path: 32, task: 24, remark: 60 },
  { path: 16, task: 12, remark: 30 },
  { path: 8, task: 6, remark: 12 },
  { path: 4, task: 3, remark: 6 },
];

/** Renders the snapshot. The same state gives the same bytes, whatever the clock and the locale. */
export function formatForPrompt(state: Readonly<RepoState>, options: FormatOptions = {}): string {
  const { count = (text) => Math.ceil(text.length / 3), target = TARGET } = options;
  let detail = FULL;
  let text = render(state, detail, options);
  const shrink = (steps: readonly Partial<Detail>[], limit: number) => {
    for (const step of steps) {
      if (count(text) <= limit) return;
      detail = { ...detail, ...step };
      text = render(state, detail, options);
    }
  };
  shrink(TO_TARGET, target);
  shrink(TO_CAP, HARD_CAP);
  return text;
}

function render(state: Readonly<RepoState>, detail: Detail, options: FormatOptions): string {
  const line = (value: string) => oneLine(value, options.redact);
  const { jobId: own } = options;
  const at: At = (fact) => line(turnName(fact, own));
  return [
    '--- Repository State ---',
    `Workspace: ${elide(line(state.workDir), detail.path * 2)}`,
    storyLine(state, options.epoch, (value) => elide(line(value), detail.path)),
    '',
    ...fileLines(state, detail, { line, at }),
    ...runLines(state, detail, { line, at }),
    ...checkLines(state, { line, at }),
    ...taskLines(state.openTasks, detail, line),
    ...noteLines(state, detail, { line, at, own }),
    ...namesLine(detail, options),
    `Last updated: ${utc(state.lastUpdated)}`,
  ].join('\n');
}

interface Turned {
  jobId?: string | undefined;
  turn: number;
}

/** The name of a turn, as `artifact_read` knows it: another job counts its own turns. */
export function turnName({ jobId, turn }: Turned, own: string | undefined): string {
  return own === undefined || (jobId ?? own) === own ? `t${turn}` : `${jobId}/t${turn}`;
}

type Line = (value: string) => string;
type At = (fact: Turned) => string;

interface Words {
  line: Line;
  at: At;
}

function storyLine(state: Readonly<RepoState>, epoch: FormatOptions['epoch'], line: Line): string {
  const { storyId, branch, base, source } = state;
  return [
    `Story: ${line(storyId)}`,
    base === '' ? 'no commit' : `${line(branch ?? 'detached')} on ${base.slice(0, 7)}`,
    ...(source === 'tools' ? ['known from tools only, git does not answer'] : []),
    ...(epoch ? [`epoch ${epoch.n}, verified t${epoch.turn}`] : []),
    ...(epoch?.earlier ? [`earlier turns: artifact_read "t${epoch.earlier[0]}".."t${epoch.earlier[1]}"`] : []),
  ].join(' | ');
}

function fileLines({ files, filesOmitted }: Readonly<RepoState>, detail: Detail, words: Words): string[] {
  const changed = newestFirst(
    files.filter(({ status }) => status !== 'unchanged'),
    'wrote',
  );
  const read = newestFirst(
    files.filter(({ status, read: at }) => status === 'unchanged' && at),
    'read',
  );
  const counts = [`${changed.length} changed`, ...(read.length > 0 ? [`${read.length} read`] : [])].join(', ');
  const shown = changed.slice(0, detail.changed).map((file) => `  • ${changedFile(file, detail, words)}`);
  const rest = changed.length - shown.length + filesOmitted;
  return [
    `Existing Files (${counts}):`,
    ...shown,
    ...(rest > 0 ? [`  … ${rest} more: repo_state files`] : []),
    ...readLine(read, detail, words),
  ];
}

function newestFirst(files: FileMeta[], what: 'wrote' | 'read'): FileMeta[] {
  return files.sort((a, b) => (b[what]?.turn ?? -1) - (a[what]?.turn ?? -1) || order(a.path, b.path));
}

/** By code units, so that the locale has no influence. */
function order(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function changedFile(
  { path, hash, size, type, status, wrote, from }: FileMeta,
  detail: Detail,
  { line, at }: Words,
): string {
  const by = { tool: '', command: ' by command', outside: ' outside this agent' }[wrote?.via ?? 'tool'];
  const when = wrote && wrote.turn >= 0 ? ` ${at(wrote)}` : '';
  const origin = from === undefined ? '' : ` from ${elide(line(from), detail.path)}`;
  const shown = elide(line(path), detail.path);
  if (status === 'deleted') return `${shown} - deleted${by}${when}`;
  if (status === 'unknown') return `${shown} - state unknown: read it before editing`;
  return `${shown} (${hash.slice(0, 6)}, ${size} bytes) - ${cutTo(line(describeType(path, type)), 24)}, ${status}${origin}${by}${when}`;
}

function readLine(read: readonly FileMeta[], detail: Detail, { line, at }: Words): string[] {
  if (read.length === 0) return [];
  const shown = read.slice(0, detail.read).map(({ path, read: by = { turn: 0 } }) => {
    const range = 'range' in by && by.range ? `:${by.range[0]}-${by.range[1]}` : '';
    return `${elide(line(path), detail.path)}${range} ${at(by)}`;
  });
  const rest = read.length - shown.length;
  return [`  read: ${[...shown, ...(rest > 0 ? [`… ${rest} more`] : [])].join(', ')}`];
}

const COMMAND_WIDTH = 100;

function runLines({ runs }: Readonly<RepoState>, detail: Detail, { line, at }: Words): string[] {
  const shown = runs.toReversed().slice(0, detail.runs);
  if (shown.length === 0) return [];
  const runLine = (run: RepoState['runs'][number]) =>
    `  ${at(run)} $ ${cutTo(line(run.command), COMMAND_WIDTH)} → ${run.exit ?? 'no exit'}: ${cutTo(line(run.line), 80)}`;
  return ['Runs:', ...shown.map(runLine)];
}

function checkLines({ checks, fingerprint }: Readonly<RepoState>, { line, at }: Words): string[] {
  if (checks.length === 0) return [];
  const shown = checks.slice(0, 8).map((check) => {
    const stale = check.fingerprint === fingerprint ? '' : ' (stale)';
    return `${cutTo(line(check.name), 24)} ${check.ok ? 'ok' : 'FAIL'} ${at(check)}${stale}`;
  });
  return [`Checks: ${shown.join(', ')}`];
}

const MOST_TASKS = 10;

function taskLines(tasks: readonly Task[], detail: Detail, line: Line): string[] {
  const open = tasks.filter(({ status }) => status !== 'completed');
  const done = tasks.length - open.length;
  const sorted = open.sort((a, b) => a.priority - b.priority || order(a.id, b.id)).slice(0, MOST_TASKS);
  const rest = open.length - sorted.length;
  return [
    `Open Tasks (${open.length}${done > 0 ? `, ${done} done` : ''}):`,
    ...sorted.map(({ status, description }, n) => `  ${n + 1}. [${status}] ${cutTo(line(description), detail.task)}`),
    ...(rest > 0 ? [`  … ${rest} more: repo_state tasks`] : []),
  ];
}

function noteLines(
  { notes, openQuestion, lastFailure }: Readonly<RepoState>,
  detail: Detail,
  { line, at, own }: Words & { own: string | undefined },
): string[] {
  const shown = notes.toReversed().slice(0, detail.notes);
  const texts = shown.map((note) => `${at(note)} ${cutTo(line(note.text), 120)}`);
  const isOwn = own === undefined || openQuestion?.jobId === own;
  const whose = isOwn ? '' : ` of ${line(openQuestion?.jobId ?? '')}`;
  return [
    ...(texts.length > 0 ? [`Notes: ${texts.join('; ')}`] : []),
    ...(openQuestion ? [`Open question${whose}: ${cutTo(line(openQuestion.question), detail.remark)}`] : []),
    ...(lastFailure ? [`Last failure ${at(lastFailure)}: ${cutTo(line(lastFailure.text), detail.remark)}`] : []),
  ];
}

function namesLine(detail: Detail, { names = [], redact, count = (text) => text.length / 3 }: FormatOptions): string[] {
  const room = NAMES_TOKENS * detail.names;
  let used = count('Names:');
  const shown: string[] = [];
  for (const name of names) {
    const text = ` ${oneLine(name, redact)}`;
    used += count(text);
    if (used > room) break;
    shown.push(text);
  }
  return shown.length === 0 ? [] : [`Names:${shown.join('')}`];
}

function utc(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return 'never';
  return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
