import { displayWidth, oneLine } from '../../render/columns.ts';
import { fold } from '../../render/fold.ts';
import { TASK_STATES } from '../../render/next-steps.ts';
import { cost, duration, tokens } from '../../render/quantities.ts';
import { renderQuestion } from '../../render/question.ts';
import { shortBlock } from '../../render/run.ts';
import { shortAgent, shortIds } from '../../render/short-names.ts';
import { type Colour, createStyle, type Style } from '../../render/style.ts';
import { howTo } from '../prompt/answer-of.ts';
import { GROUPS, type Group, type Item, type TaskItem } from './board.ts';

/** A text that fills the screen: a timeline, a difference, a whole question. */
export interface Page {
  title: string;
  lines: readonly string[];
  /** The first line that is shown. */
  top: number;
}

export interface View {
  items: readonly Item[];
  selected: number;
  repositories: readonly string[];
  page?: Page | undefined;
  /** A line that is being typed. */
  prompt?: { label: string; text: string; isSecret: boolean } | undefined;
  message: string;
}

export interface Size {
  width: number;
  height: number;
}

const COLOURS: Record<Group, Colour> = {
  asks: 'yellow',
  'needs you': 'yellow',
  working: 'green',
  waiting: 'cyan',
  ended: 'dim',
};
const PLURAL: Partial<Record<Group, string>> = { asks: 'ask', 'needs you': 'need you' };
const SMALLEST_WITH_DETAIL = 16;
const LIST_KEYS = 'j/k move · Enter open · d diff · a accept · t talk · x end · ? help · q quit';
const WIDE_ENOUGH_FOR_TOKENS = 110;
const QUESTION_KEYS = 'y allow once · s for this job · n deny · t answer · Enter see all of it · q quit';
const PAGE_KEYS = 'j/k scroll · g/G top, end · q back';

/** Exactly `height` lines, none wider than `width`. */
export function drawScreen(view: View, size: Size, style: Style): string[] {
  const body = size.height - 2;
  const lines = view.page ? pageLines(view.page, body) : listLines(view, { ...size, height: body }, style);
  const filled = [...lines, ...Array<string>(Math.max(0, body - lines.length)).fill('')].slice(0, body);
  return [header(view, size, style), ...filled, footer(view, size, style)];
}

function header({ items, repositories, page }: View, { width }: Size, style: Style): string {
  const counts = GROUPS.slice(0, -1).flatMap((group) => {
    const count = items.filter((item) => item.group === group).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? group : (PLURAL[group] ?? group)}`];
  });
  const where = repositories.length === 1 ? repositories[0] : `${repositories.length} repositories`;
  const title = page?.title ?? ['reef', where, ...(counts.length === 0 ? ['nothing to do'] : counts)].join(' · ');
  const clock = style.clock(style.now);
  const left = oneLine(title, Math.max(10, width - clock.length - 2));
  return `${style.paint('bold', left)}${' '.repeat(Math.max(1, width - displayWidth(left) - clock.length - 1))}${style.paint('dim', clock)}`;
}

function footer({ items, selected, page, prompt, message }: View, { width }: Size, { paint }: Style): string {
  if (prompt) {
    const typed = prompt.isSecret ? '•'.repeat(prompt.text.length) : prompt.text;
    const room = Math.max(4, width - prompt.label.length - 3);
    // The end of a long line is what one is typing.
    return `${paint('bold', prompt.label)} ${oneLine(typed.slice(-room), room)}█`;
  }
  if (message !== '') return paint('yellow', oneLine(message, width));
  const isQuestion = items[selected]?.kind === 'question';
  return paint('dim', oneLine(page ? PAGE_KEYS : isQuestion ? QUESTION_KEYS : LIST_KEYS, width));
}

function pageLines({ lines, top }: Page, height: number): string[] {
  return lines.slice(top, top + height);
}

/** The rows, and below them what there is to know of the selected one. */
function listLines(view: View, { width, height }: Size, style: Style): string[] {
  const { items, selected } = view;
  if (items.length === 0) return ['', '  Nothing runs and nothing asks.', '', '  reef run "…" --follow   start a task'];
  const pane = height + 2 >= SMALLEST_WITH_DETAIL ? detailLines(view, { width, height }, style) : [];
  const rows = rowLines(view, width, style);
  const room = height - (pane.length > 0 ? pane.length + 1 : 0);
  const at = rows.findIndex(({ item }) => item === items[selected]);
  const from = Math.max(0, Math.min(at - Math.floor(room / 2), rows.length - room));
  const shown = rows.slice(from, from + room).map(({ text }) => text);
  if (pane.length === 0) return shown;
  const filler = Array<string>(Math.max(0, room - shown.length)).fill('');
  return [...shown, ...filler, style.paint('dim', '─'.repeat(width)), ...pane];
}

function rowLines({ items, selected, repositories }: View, width: number, style: Style) {
  const short = shortIds(items.map(({ id }) => id));
  const widest = Math.max(0, ...repositories.map((name) => name.length));
  const repository = (name: string) =>
    repositories.length > 1 ? `${name.slice(0, 16).padEnd(Math.min(widest, 16))}  ` : '';
  return GROUPS.flatMap((group) => {
    const ofGroup = items.filter((item) => item.group === group);
    const rows = ofGroup.map((item) => {
      const isSelected = items[selected] === item;
      const head = `${isSelected ? '›' : ' '} ${short(item.id)}  ${repository(item.repository)}`;
      const line = oneRow(`${head}${rowWords(item, width, style)}`, width);
      return {
        item,
        text: isSelected ? style.paint('bold', line) : group === 'ended' ? style.paint('dim', line) : line,
      };
    });
    const heading = { item: undefined, text: style.paint(COLOURS[group], group.toUpperCase()) };
    return rows.length === 0 ? [] : [heading, ...rows];
  });
}

/** Cut to the width, but with its columns kept. */
function oneRow(text: string, width: number): string {
  const [first = ''] = fold(text, width);
  return first;
}

function rowWords(item: Item, width: number, style: Style): string {
  const age = duration(style.now.getTime() - Date.parse(item.since)).padEnd(6);
  if (item.kind === 'question') {
    const { agent, question, runId, jobId } = item.question;
    const who = runId === jobId ? 'halted' : shortAgent(agent);
    return `${oneLine(who, 12).padEnd(12)}  ${age}  ${oneLine(question, 500)}`;
  }
  const { job, run, task } = item;
  const agent = oneLine(job ? shortAgent(job.agent) : '', 12).padEnd(12);
  const used = job ? `${tokens(job.usage).padEnd(6)}  ${cost(job.usage).padEnd(6)}  ` : ' '.repeat(16);
  const spent = width >= WIDE_ENOUGH_FOR_TOKENS ? used : '';
  const last = item.group === 'working' && job?.lastOutput ? ` — ${oneLine(job.lastOutput.slice(-500), 500)}` : '';
  const state = oneLine(stateWords(item), 18).padEnd(18);
  return `${agent}  ${age}  ${state}  ${spent}${oneLine(task, run ? 60 : 80)}${last}`;
}

function stateWords({ state, job, run }: TaskItem): string {
  if (state === 'working' && run?.block) return shortBlock(run.block, run.visit ?? 1);
  if (state === 'job_working' && job) return job.activity;
  return state.replace(/^job_/, '').replaceAll('_', ' ');
}

/** A third of the screen, or as much as a question needs up to two thirds of it. */
function detailLines({ items, selected }: View, { width, height }: Size, style: Style): string[] {
  const item = items[selected];
  if (!item) return [];
  const lines = detailOf(item, width, style);
  const most = Math.floor((height * (item.kind === 'question' ? 2 : 1)) / 3);
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), style.paint('dim', '… Enter shows all of it')];
}

/** Whether the list shows all of the selected question: only then can it be allowed there. */
export function isWhole({ items, selected }: Pick<View, 'items' | 'selected'>, { width, height }: Size): boolean {
  const item = items[selected];
  if (item?.kind !== 'question' || item.question.cut || height < SMALLEST_WITH_DETAIL) return false;
  const plain = createStyle({ colour: false, width, now: new Date() });
  return questionLines(item.question, width, plain).length <= Math.floor(((height - 2) * 2) / 3);
}

export function questionLines(question: Parameters<typeof renderQuestion>[0], width: number, style: Style): string[] {
  const how =
    question.kind === 'permission' ? 'y once, s for the rest of this job, n no' : `t, or a digit: ${howTo(question)}`;
  const text = renderQuestion(question, style, [how]);
  return text.split('\n').flatMap((line) => fold(line, width));
}

function detailOf(item: Item, width: number, style: Style): string[] {
  if (item.kind === 'question') return questionLines(item.question, width, style);
  const { run, job, task, state } = item;
  const rows = [
    task,
    `${TASK_STATES[state].means}${run?.because ? ` ${run.because}` : ''}`,
    ...(run ? [`worktree ${run.worktree}${run.path === null ? '' : `  ${run.path}`}`] : [job?.cwd ?? '']),
  ];
  const last = (job?.lastOutput ?? '').trimEnd().split('\n').slice(-20);
  return [
    ...rows.map((row) => oneLine(row, width)),
    ...last.map((row) => style.paint('dim', oneLine(row, width))),
  ].filter((row) => row !== '');
}
