import { join } from 'node:path';
import type { Face } from '../../app/runtime/commands/command.ts';
import type { Conversation } from '../../app/runtime/conversation.ts';
import { printable } from '../../base/printable.ts';
import { toReefError } from '../../protocol/errors.ts';
import type { Emitter } from '../../runtime/engine/emitter.ts';
import { terminalEmitter } from '../../runtime/engine/emitters.ts';
import { PRESETS } from '../../runtime/engine/engine.ts';
import { createContext } from '../../runtime/state/init.ts';
import { renderPromptLeft, renderPromptRight } from '../../runtime/state/prompt-template.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import { settingsOf } from '../../runtime/state/turns.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import type { Cli } from '../cli/cli.ts';
import { askQuestions } from './child-questions.ts';
import { copyText } from './clipboard.ts';
import { completeLine } from './complete.ts';
import { editFile, editText } from './editor.ts';
import { enterScope, leaveScope, overridesOf, type ScopeOptions } from './enter.ts';
import { readHistory, writeHistory } from './history.ts';
import { interruptible } from './interrupt.ts';
import { jobsFace } from './jobs-face.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { confirmsAll, converse, openPlace } from './open.ts';
import { askPerson, type Person, userPort } from './person.ts';
import { openTeam } from './team.ts';
import { Terminal } from './terminal.ts';

/** A chat from its first line to its last, in one context. */
export async function runRepl(cli: Cli, options: ScopeOptions): Promise<number> {
  let terminal: Terminal | undefined;
  // Before the configuration is read nobody knows its keys; only the vault may ask that early.
  const person: Person = {
    question: async (text, signal) => (await terminal?.question(text, signal)) ?? '',
    secret: async (text, signal) => (await terminal?.secret(text, signal)) ?? '',
    tell: (text) => terminal?.tell(text),
  };
  const inTurn = oneAtATime();
  const askAtOnce = askPerson(person);
  const ask: AskFn = (question, signal) => inTurn(() => askAtOnce(question, signal), signal);
  const runtime = await openPlace({ cli, ask, askPassword: (text) => person.secret(text), isOneShot: false });
  const confirmAll = confirmsAll(runtime, options);
  const onAsked = askQuestions({ cli, person, inTurn });
  const team = openTeam({ cli, runtime, ask, onAsked, confirmAll });
  const ctx = createContext(team.app, {
    workingMode: 'repl',
    overrides: overridesOf(options),
    ui: userPort(person),
  });
  const historyFile = join(runtime.app.paths.cachePath(), 'chat-history');
  const open = new Terminal({
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
    jobs: jobsFace(cli),
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

/** Servers may take their time: Ctrl-C ends that too. */
async function begin(
  ctx: RequestContext,
  options: ScopeOptions,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  await enterScope(ctx, options, signal);
  await ctx.applyPrelude(signal);
  terminal.tell(`Reef ${ctx.app.version}, ${ctx.model.id}. \`.help\` lists the commands.`);
}

/** A lost terminal cannot be asked: what was said is kept unless that is forbidden. */
async function end(ctx: RequestContext, terminal: Terminal): Promise<void> {
  const isUndecided = ctx.session && settingsOf(ctx.app.config, ctx).save_session === null;
  if (terminal.isLost && isUndecided) ctx.setSaveSessionThisTime();
  await leaveScope(ctx);
}

interface Room {
  cli: Cli;
  terminal: Terminal;
}

async function talk(conversation: Conversation, room: Room): Promise<void> {
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
  const { config } = ctx.app;
  let entry = await terminal.next(renderPromptLeft(config, ctx, isColored), renderPromptRight(config, ctx, isColored));
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

/** Whatever goes wrong is told, and the chat goes on. */
async function answer(conversation: Conversation, { cli, terminal, text, signal }: Turn): Promise<void> {
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
