import { printable } from '../../base/printable.ts';
import type { InboxEntry, JobView } from '../../protocol/job-operations.ts';
import type { HaltVerb } from '../../protocol/workflow.ts';
import { duration } from './quantities.ts';
import { haltCommands } from './run.ts';
import { shellQuote, shortIds } from './short-names.ts';
import type { Style } from './style.ts';

export type Asked = Omit<InboxEntry, 'askedAt'> & { askedAt?: string };

/** The open questions of a job, each with what one needs to know about the job. */
export function questionsOf({ questions, id: jobId, agent, task, cwd }: JobView): Asked[] {
  return questions.map((question) => ({ ...question, jobId, agent, task, cwd }));
}

/** Enough to name one question, and not to match it any more when its arguments have changed. */
const FINGERPRINT_CHARACTERS = 10;
const LABEL_WIDTH = 8;
const MOST_TASK_LINES = 6;

/** Everything that a person needs to decide: the whole request, where it would run, who asks, and how to answer. */
export function renderQuestion(asked: Asked, style: Style, answers = answerCommands(asked)): string {
  const { paint } = style;
  const short = shortIds(asked.path);
  const line = (label: string, value: string) => labelled(paint('dim', label.padEnd(LABEL_WIDTH)), value);
  const isOfRun = asked.runId === asked.jobId;
  const kind = isOfRun ? 'halted' : asked.kind;
  const head = `${paint('bold', asked.jobId)}  ${printable(asked.agent)}  ${paint('yellow', kind)}${since(asked, style.now)}`;
  const part = asked.group && asked.group.of > 1 ? ` (${asked.group.index + 1} of ${asked.group.of})` : '';
  return [
    head,
    line('task', beginning(asked.task)),
    line('folder', asked.cwd),
    ...(asked.path.length > 1 ? [line('chain', asked.path.map(short).join(' › '))] : []),
    ...(asked.tool ? [line('tool', asked.tool)] : []),
    ...request(asked).map((text) => line('', `│ ${text}`)),
    line('asks', `${asked.header && !isOfRun ? `${asked.header}: ` : ''}${asked.question}${part}`),
    ...(isOfRun ? [] : options(asked)).map((text) => line('', text)),
    // What is cut cannot be allowed yet, and so not for longer either.
    ...(asked.grant && !asked.cut ? [line('longer', `--allow --session, or --always: ${asked.grant.covers}`)] : []),
    ...answers.map((command, index) => line(index === 0 ? 'answer' : '', command)),
  ].join('\n');
}

const JUST_NOW_MS = 5_000;

function since({ askedAt }: Asked, now: Date): string {
  const ms = askedAt === undefined ? 0 : now.getTime() - Date.parse(askedAt);
  return ms < JUST_NOW_MS ? '' : `, asked ${duration(ms)} ago`;
}

function beginning(task: string): string {
  const lines = task.trimEnd().split('\n');
  return lines.length <= MOST_TASK_LINES ? lines.join('\n') : [...lines.slice(0, MOST_TASK_LINES), '…'].join('\n');
}

/** Never cut: a person must see all of what they approve. */
function request({ kind, input, diff }: Asked): string[] {
  const changed = diff ? diff.trimEnd().split('\n') : [];
  const lines = kind === 'permission' && input !== undefined ? inputText(besideDiff(input, changed)).split('\n') : [];
  return [...lines, ...changed];
}

/** The names that agents give to the text of an edit. */
const EDITED = /^(old|new)_?string$|^content$/i;

/** What the difference shows line by line is not shown a second time. */
function besideDiff(input: unknown, changed: readonly string[]): unknown {
  if (changed.length === 0 || typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const shown = new Set(changed.map((line) => line.slice(1)));
  const isShown = ([name, value]: [string, unknown]) =>
    EDITED.test(name) &&
    typeof value === 'string' &&
    value
      .trimEnd()
      .split('\n')
      .every((line) => shown.has(line));
  return Object.fromEntries(Object.entries(input).filter((field) => !isShown(field)));
}

function inputText(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return JSON.stringify(input);
  const { command, ...others } = input as Record<string, unknown>;
  const shown = commandText(command);
  if (shown === undefined) return JSON.stringify(input, null, 2);
  return Object.keys(others).length > 0 ? `${shown}\n${JSON.stringify(others, null, 2)}` : shown;
}

export function commandText(command: unknown): string | undefined {
  if (typeof command === 'string') return command;
  return Array.isArray(command) ? command.map((word) => shellQuote(String(word))).join(' ') : undefined;
}

function options(asked: Asked): string[] {
  if (asked.kind === 'permission') return [];
  const choices = asked.choices ?? asked.options?.map((label) => ({ label, description: undefined })) ?? [];
  return choices.map(
    ({ label, description }, index) => `${index + 1}  ${label}${description ? ` – ${description}` : ''}`,
  );
}

/** The commands to type, most likely first. */
export function answerCommands(asked: Asked): string[] {
  if (asked.runId === asked.jobId)
    return haltCommands(asked.jobId, (asked.options ?? []) as HaltVerb[]).map((text) => text.trim());
  const send = `reef send ${asked.jobId} --question ${asked.fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`;
  if (asked.kind === 'permission') return [allowCommand(asked, send), `${send} --deny "why not"`];
  const hasOptions = options(asked).length > 0;
  const byNumber = asked.multi ? `${send} --option 1 --option 2` : `${send} --option 1`;
  // A secret given as an argument would stay in the shell's history.
  const byText = asked.secret ? `${send} -   (reads it from standard input)` : `${send} "your answer"`;
  if (!hasOptions) return [byText];
  return asked.freeText ? [byNumber, byText] : [byNumber];
}

/** What is cut is first shown whole, and that shows the command which allows it. */
function allowCommand({ cut, fingerprint }: Asked, send: string): string {
  if (!cut) return `${send} --allow`;
  if (!cut.isKept) return '(too long to be shown whole, so it can only be denied)';
  const size = `${Math.ceil(cut.bytes / 1024)} KiB`;
  return `reef inbox --whole ${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}   (shows all ${size}; only then can it be allowed)`;
}

function labelled(label: string, value: string): string {
  const [first = '', ...rest] = printable(value).trimEnd().split('\n');
  const indent = ' '.repeat(LABEL_WIDTH + 3);
  return [`  ${label} ${first}`, ...rest.map((line) => indent + line)].join('\n');
}
