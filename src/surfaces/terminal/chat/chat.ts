import { readFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isCommand } from '../../../app/runtime/commands/command.ts';
import { COMMANDS } from '../../../app/runtime/commands/table.ts';
import type { Dialogue } from '../../../app/runtime/dialogue.ts';
import { writeAtomic } from '../../../base/atomic-file.ts';
import { printable } from '../../../base/printable.ts';
import { toReefError } from '../../../protocol/errors.ts';
import { type Emitter, terminalEmitter } from '../../../runtime/engine/emitter.ts';
import { PRESETS } from '../../../runtime/engine/engine.ts';
import { renderPromptLeft, renderPromptRight } from '../../../runtime/state/prompt-template.ts';
import { replComplete } from '../../../runtime/state/repl-complete.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { settingsOf } from '../../../runtime/state/resolve.ts';
import { openAnswer } from '../answer/open-answer.ts';
import type { Cli } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { askQuestions } from '../prompt/job-questions.ts';
import type { Person } from '../prompt/person.ts';
import { ChatTerminal } from './chat-terminal.ts';
import { enterScope, leaveScope, openConversation, type ScopeOptions } from './conversation.ts';
import { askingJobs, chatJobs, openTeam } from './jobs.ts';
import { copyText, editFile, editText } from './user-programs.ts';

/** A chat from its first line to its last, in one context. */
export async function runChat(cli: Cli, options: ScopeOptions): Promise<number> {
  let opened: ChatTerminal | undefined;
  // The terminal needs the key bindings of the configuration, and only the vault may ask before that is read.
  const person: Person = {
    question: async (text, signal) => (await opened?.question(text, signal)) ?? '',
    secret: async (text, signal) => (await opened?.secret(text, signal)) ?? '',
    tell: (text) => opened?.tell(text),
  };
  const conversation = await openConversation({
    cli,
    options,
    person,
    mode: 'repl',
    openTeam: async ({ turns, ...setting }) => openTeam({ ...setting, onAsked: askQuestions({ cli, person, turns }) }),
    face: ({ app }) => ({
      edit: (file) => editFile(file, { app, cli, terminal }),
      secret: (text) => terminal.secret(text),
      copy: (text) => copyText(text, cli),
      jobs: chatJobs(cli),
    }),
  });
  const { ctx } = conversation;
  const historyFile = join(ctx.app.paths.cachePath(), 'chat-history');
  const terminal = new ChatTerminal({
    host: cli.host,
    isVi: ctx.app.config.keybindings === 'vi',
    history: readHistory(historyFile),
    complete: (line) => completeLine(ctx, cli, line),
  });
  opened = terminal;
  try {
    const whole = async (signal: AbortSignal) => {
      signal.addEventListener('abort', () => terminal.hangUp(), { once: true });
      try {
        await terminal.during((starting) => begin(ctx, options, terminal, starting));
        await talk(conversation, { cli, terminal });
      } finally {
        await end(ctx, terminal);
      }
      return 0;
    };
    return await interruptible(whole, () => terminal.interrupt());
  } finally {
    await writeHistory(historyFile, terminal.history).catch(() => {}); // losing the history is no failure of the chat
    terminal.close();
  }
}

/** Ctrl-C ends this too, because servers may take long to start. */
async function begin(
  ctx: RequestContext,
  options: ScopeOptions,
  terminal: ChatTerminal,
  signal: AbortSignal,
): Promise<void> {
  await enterScope(ctx, options, signal);
  await ctx.applyPrelude(signal);
  terminal.tell(`Reef ${ctx.app.version}, ${ctx.model.id}. \`.help\` lists the commands.`);
}

/** A terminal that is gone cannot be asked whether to save the session, so the session is saved. */
async function end(ctx: RequestContext, terminal: ChatTerminal): Promise<void> {
  const isUndecided = ctx.session && settingsOf(ctx).save_session === null;
  if (terminal.isLost && isUndecided) ctx.setSaveSessionThisTime();
  await leaveScope(ctx);
}

interface Room {
  cli: Cli;
  terminal: ChatTerminal;
}

async function talk(conversation: Dialogue, room: Room): Promise<void> {
  const { ctx } = conversation;
  while (!conversation.isOver) {
    const text = await readQuestion(ctx, room);
    if (text === undefined) return;
    if (text.trim() !== '') await room.terminal.during((signal) => answer(conversation, { ...room, text, signal }));
  }
}

const BLOCK = ':::';
const MORE = '… ';

/** One line or several: a block between `:::`, with line breaks by Ctrl-J or pasted, or a text from the editor. */
async function readQuestion(ctx: RequestContext, { cli, terminal }: Room): Promise<string | undefined> {
  const isColored = !cli.env.noColor;
  let entry = await terminal.next(renderPromptLeft(ctx, isColored), renderPromptRight(ctx, isColored));
  const lines = entry ? [entry.text] : [];
  const isBlock = entry?.text.startsWith(BLOCK) === true;
  while (entry && entry.end !== 'edit' && isBlock && !isBlockOver(lines)) {
    entry = await terminal.next(MORE);
    if (entry) lines.push(entry.text);
  }
  if (!entry) return undefined;
  const text = lines.join('\n');
  if (entry.end === 'edit') return editText(text, { app: ctx.app, cli, terminal });
  return isBlock ? text.trim().slice(BLOCK.length, -BLOCK.length).trim() : text;
}

function isBlockOver(lines: readonly string[]): boolean {
  const last = lines.at(-1)?.trimEnd() ?? '';
  return last.endsWith(BLOCK) && (lines.length > 1 || last.length >= 2 * BLOCK.length);
}

interface Turn extends Room {
  text: string;
  signal: AbortSignal;
}

/** Reports errors instead of throwing them, so that the chat goes on. */
async function answer(conversation: Dialogue, { cli, terminal, text, signal }: Turn): Promise<void> {
  let isTold = false;
  const sink = await openAnswer(cli, conversation.ctx, terminal);
  terminal.onInterlude = () => sink.pause();
  const shown = terminalEmitter({ answer: sink, notes: (note) => terminal.write(note) });
  const emitter: Emitter = {
    emit(event) {
      isTold ||= event.type === 'error';
      return shown.emit(event);
    },
  };
  try {
    await conversation.line(text, { emitter, options: { ...PRESETS.repl_turn, signal } });
  } catch (error) {
    await shown.end();
    if (isTold) return;
    const { message } = toReefError(error);
    terminal.tell(`${cli.style.paint('red', 'error')}: ${printable(message)}`);
  } finally {
    await shown.end();
    terminal.onInterlude = undefined;
  }
}

/** One JSON string per line, newest first. Empty if the file cannot be read. */
function readHistory(file: string): string[] {
  try {
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    return lines.flatMap((line) => {
      const text: unknown = JSON.parse(line);
      return typeof text === 'string' ? [text] : [];
    });
  } catch {
    return [];
  }
}

async function writeHistory(file: string, lines: readonly string[]): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeAtomic(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** What Tab offers: commands that can be used now, then what may follow them. */
async function completeLine(ctx: RequestContext, cli: Cli, line: string): Promise<[string[], string]> {
  if (!isCommand(line)) return [[], line];
  const [command = '', ...args] = line.split(/\s+/);
  const names = COMMANDS.flatMap(({ name, needs = [] }) =>
    name.startsWith(line) && needs.every((isMet) => isMet(ctx) === undefined) ? [name] : [],
  );
  const typed = args.at(-1) ?? '';
  if (args.length === 0) return [names, line];
  const values = await valuesFor(ctx, cli, { command, args, typed });
  return values.length === 0 && names.length > 0 ? [names, line] : [values, typed];
}

interface Typed {
  command: string;
  args: readonly string[];
  /** The last word, which is not complete. */
  typed: string;
}

async function valuesFor(ctx: RequestContext, cli: Cli, { command, args, typed }: Typed): Promise<string[]> {
  if (command === '.file') return paths(ctx.app.cwd, typed);
  if (command === '.inbox' && args.length === 1) {
    return (await askingJobs(cli)).filter((id) => id.startsWith(typed));
  }
  const found = await replComplete(ctx, { command, args });
  return found.map(([value]) => value);
}

async function paths(cwd: string, typed: string): Promise<string[]> {
  const folder = typed.endsWith('/') ? typed : dirname(typed);
  const entries = await readdir(resolve(cwd, folder), { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => {
    const path = folder === '.' && !typed.startsWith('./') ? entry.name : join(folder, entry.name);
    return path.startsWith(typed) ? [entry.isDirectory() ? `${path}/` : path] : [];
  });
}
