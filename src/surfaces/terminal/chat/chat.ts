import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Face } from '../../../app/runtime/commands/command.ts';
import type { Dialogue } from '../../../app/runtime/dialogue.ts';
import { writeAtomic } from '../../../base/atomic-file.ts';
import { printable } from '../../../base/printable.ts';
import { Limiter } from '../../../base/serial.ts';
import { toReefError } from '../../../protocol/errors.ts';
import { type Emitter, terminalEmitter } from '../../../runtime/engine/emitter.ts';
import { PRESETS } from '../../../runtime/engine/engine.ts';
import { createContext } from '../../../runtime/state/init.ts';
import { renderPromptLeft, renderPromptRight } from '../../../runtime/state/prompt-template.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { settingsOf } from '../../../runtime/state/resolve.ts';
import type { Cli } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { askQuestions } from '../prompt/job-questions.ts';
import { askPerson, type Person, userPort } from '../prompt/person.ts';
import { ChatTerminal } from './chat-terminal.ts';
import { completeLine } from './complete.ts';
import {
  confirmsAll,
  converse,
  enterScope,
  leaveScope,
  openTerminalRuntime,
  overridesOf,
  type ScopeOptions,
} from './conversation.ts';
import { chatJobs, openTeam } from './jobs.ts';
import { copyText, editFile, editText } from './user-programs.ts';

/** A chat from its first line to its last, in one context. */
export async function runChat(cli: Cli, options: ScopeOptions): Promise<number> {
  let terminal: ChatTerminal | undefined;
  // The terminal needs the key bindings of the configuration, and only the vault may ask before that is read.
  const person: Person = {
    question: async (text, signal) => (await terminal?.question(text, signal)) ?? '',
    secret: async (text, signal) => (await terminal?.secret(text, signal)) ?? '',
    tell: (text) => terminal?.tell(text),
  };
  const turns = new Limiter();
  const ask = askPerson(person, turns);
  const runtime = await openTerminalRuntime({ cli, ask, askPassword: (text) => person.secret(text), isOneShot: false });
  const confirmAll = confirmsAll(runtime, options);
  const onAsked = askQuestions({ cli, person, turns });
  const team = openTeam({ cli, runtime, ask, onAsked, confirmAll });
  const ctx = createContext(team.app, {
    workingMode: 'repl',
    overrides: overridesOf(options),
    ui: userPort(person),
  });
  const historyFile = join(runtime.app.paths.cachePath(), 'chat-history');
  const open = new ChatTerminal({
    host: cli.host,
    isVi: ctx.app.config.keybindings === 'vi',
    history: readHistory(historyFile),
    complete: (line) => completeLine(ctx, line),
  });
  terminal = open;
  const face: Face = {
    edit: (file) => editFile(file, { app: ctx.app, cli, terminal: open }),
    secret: (text) => open.secret(text),
    copy: (text) => copyText(text, cli),
    jobs: chatJobs(cli),
  };
  const conversation = converse(ctx, { cli, runtime, ask, face, confirmAll, drive: team.run });
  try {
    const whole = async (signal: AbortSignal) => {
      signal.addEventListener('abort', () => open.hangUp(), { once: true });
      try {
        await open.during((starting) => begin(ctx, options, { terminal: open, signal: starting }));
        await talk(conversation, { cli, terminal: open });
      } finally {
        await end(ctx, open);
      }
      return 0;
    };
    return await interruptible(whole, () => open.interrupt());
  } finally {
    await writeHistory(historyFile, open.history()).catch(() => {}); // the chat went well without it
    open.close();
  }
}

/** Servers may take long to start: Ctrl-C ends that too. */
async function begin(
  ctx: RequestContext,
  options: ScopeOptions,
  { terminal, signal }: { terminal: ChatTerminal; signal: AbortSignal },
): Promise<void> {
  await enterScope(ctx, options, signal);
  await ctx.applyPrelude(signal);
  terminal.tell(`Reef ${ctx.app.version}, ${ctx.model.id}. \`.help\` lists the commands.`);
}

/** A lost terminal cannot be asked whether to save the session, so it is saved unless that is forbidden. */
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

/** One line, or several: a block between `:::`, lines ended by Ctrl-J, or what came out of the editor. */
async function readQuestion(ctx: RequestContext, { cli, terminal }: Room): Promise<string | undefined> {
  const isColored = !cli.env.noColor;
  let entry = await terminal.next(renderPromptLeft(ctx, isColored), renderPromptRight(ctx, isColored));
  const lines = entry ? [entry.text] : [];
  const isBlock = entry?.text.startsWith(BLOCK) === true;
  while (entry && entry.end !== 'edit' && (isBlock ? !isBlockOver(lines) : entry.end === 'more')) {
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

/** Reports whatever goes wrong, so that the chat goes on. */
async function answer(conversation: Dialogue, { cli, terminal, text, signal }: Turn): Promise<void> {
  let isTold = false;
  const plain = terminalEmitter({
    answer: (part) => terminal.write(part),
    notes: (note) => terminal.write(note),
  });
  const emitter: Emitter = {
    emit(event) {
      isTold ||= event.type === 'error';
      return plain.emit(event);
    },
  };
  try {
    await conversation.line(text, { emitter, options: { ...PRESETS.repl_turn, signal } });
  } catch (error) {
    if (isTold) return;
    const { message } = toReefError(error);
    terminal.tell(`${cli.style.paint('red', 'error')}: ${printable(message)}`);
  }
}

/** One JSON string per line, newest first. A file that cannot be read counts as no history. */
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
