import type { Dialogue } from '../../../app/runtime/dialogue.ts';
import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import {
  type AnswerSink,
  type Emitter,
  nullEmitter,
  type RunOutcome,
  terminalEmitter,
} from '../../../runtime/engine/emitter.ts';
import { PRESETS, type RunOptions } from '../../../runtime/engine/engine.ts';
import { toSource } from '../../../runtime/engine/input.ts';
import { info } from '../../../runtime/state/info.ts';
import { settingsOf } from '../../../runtime/state/resolve.ts';
import type { ChatTeam } from '../../native-agent/chat-team.ts';
import { openAnswer, outputScreen } from '../answer/open-answer.ts';
import { enterScope, leaveScope, openConversation, type ScopeOptions, type TeamSetting } from '../chat/conversation.ts';
import type { Cli, Command } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { linePerson } from '../prompt/line-person.ts';
import type { Person } from '../prompt/person.ts';
import type { ServiceFlag } from './ask-services.ts';

interface AskOptions extends ScopeOptions {
  macro?: string;
  execute?: true;
  code?: true;
  file?: string[];
  info?: true;
  headless?: true;
  /** Set by an option that asks no model anything. */
  service?: ServiceFlag;
}

export const ask: Command<AskOptions> = async (cli, words, options) => {
  if (options.service !== undefined) {
    const { serve } = await import('./ask-services.ts');
    return serve(cli, options.service, options);
  }
  const text = await questionOf(cli, words, options);
  const isEmpty = text === '' && !options.file && options.macro === undefined && !options.info;
  if (isEmpty) return toChat(cli, options);
  return interruptible((signal) => answer(cli, { text, options, signal }));
};

/** Standard input follows the words. For a macro it is the text of the last value. */
async function questionOf(cli: Cli, words: readonly string[], options: AskOptions): Promise<string> {
  const typed = words.join(' ');
  const piped = options.info || cli.host.stdin.isTTY === true ? '' : await cli.stdin();
  return [typed, piped].filter((part) => part !== '').join(options.macro === undefined ? '\n' : ' -- ');
}

async function toChat(cli: Cli, options: AskOptions): Promise<number> {
  if (!cli.isInteractive) throw new ReefError('no_tty', 'There is no question, and no terminal to ask for one');
  return chat(cli, [], options);
}

export const chat: Command<ScopeOptions> = async (cli, _words, options) => {
  if (!cli.isInteractive) throw new ReefError('no_tty', 'A chat needs a terminal');
  const { runChat } = await import('../chat/chat.ts');
  return runChat(cli, options);
};

interface Request {
  text: string;
  options: AskOptions;
  signal: AbortSignal;
}

async function answer(whole: Cli, { text, options, signal }: Request): Promise<number> {
  const shown = new Shown(whole);
  const cli = shown.cli;
  const person = cli.isInteractive && !options.headless ? linePerson(cli, signal, shown.pause) : undefined;
  // Only agents need a team, and only with one are its modules loaded.
  const mayUseAgent = options.agent !== undefined || options.macro !== undefined;
  const conversation = await openConversation<Cli>({
    cli,
    options,
    person,
    mode: 'cmd',
    face: () => ({}),
    ...(mayUseAgent && { openTeam: (setting) => teamOf(setting, person, options) }),
  });
  const { ctx } = conversation;
  try {
    await enterScope(ctx, withRole(options), signal);
    if (options.info) {
      const words = info(ctx);
      cli.print({ info: words }, () => words.trimEnd());
      return 0;
    }
    const outcome = await put(shown, conversation, { text, options, signal });
    show(cli, outcome, conversation, options.code === true);
    if (!options.execute || !person || cli.json || settingsOf(ctx).dry_run) return 0;
    const { offer } = await import('../chat/execute.ts');
    return await offer(conversation, { cli, person, signal, command: outcome.final_message ?? '' });
  } finally {
    await leaveScope(ctx);
  }
}

/** A question of a child waits for the first answer, given here or elsewhere. `--headless` waits for nobody. */
async function teamOf(
  { cli, turns, ...deps }: TeamSetting<Cli>,
  person: Person | undefined,
  { headless }: AskOptions,
): Promise<ChatTeam> {
  const [{ openTeam }, { askQuestions, refuseQuestions, tellQuestions }] = await Promise.all([
    import('../chat/jobs.ts'),
    import('../prompt/job-questions.ts'),
  ]);
  const atTerminal = person ? askQuestions({ cli, person, turns }) : tellQuestions(cli);
  return openTeam({ cli, ...deps, onAsked: headless ? refuseQuestions : atTerminal });
}

/** Prints what is not on the screen yet: the JSON document, the code alone, and the sources of the answer. */
function show(cli: Cli, outcome: RunOutcome, conversation: Dialogue, isCode: boolean): void {
  const found = conversation.sources.map(({ source, chunk, score }) => ({ source, chunk, score }));
  if (cli.json) cli.out(JSON.stringify({ ...outcome, ...(found.length > 0 && { sources: found }) }));
  else if (isCode) cli.out(outcome.final_message ?? '');
  if (!cli.json) for (const { source, chunk } of found) cli.talk(printable(`source: ${source}, chunk ${chunk}`));
}

/** Without a chosen role, `-e` and `-c` use the built-in roles `shell` and `code`. */
function withRole(options: AskOptions): AskOptions {
  if (options.role !== undefined || options.prompt !== undefined || options.agent !== undefined) return options;
  if (options.execute) return { ...options, role: 'shell' };
  return options.code ? { ...options, role: 'code' } : options;
}

/** Shows the answer at the terminal, where others write as well. */
class Shown {
  readonly cli: Cli;
  #sink: AnswerSink | undefined;

  constructor(cli: Cli) {
    const talk = (words: string) => {
      this.pause();
      cli.talk(words);
    };
    this.cli = { ...cli, talk };
  }

  readonly pause = (): void => this.#sink?.pause();

  /** The answer goes to stdout, everything else to stderr. Errors are printed by whoever runs the command. */
  async during<T>({ ctx }: Dialogue, work: (emitter: Emitter) => Promise<T>): Promise<T> {
    const { cli } = this;
    const sink = await openAnswer(cli, ctx, outputScreen(cli));
    this.#sink = sink;
    const terminal = terminalEmitter({ answer: sink, notes: (text) => void cli.host.stderr.write(text) });
    try {
      return await work({ emit: (event) => (event.type === 'error' ? undefined : terminal.emit(event)) });
    } finally {
      await terminal.end();
      this.#sink = undefined;
    }
  }
}

async function put(shown: Shown, conversation: Dialogue, { text, options, signal }: Request): Promise<RunOutcome> {
  const { cli } = shown;
  const run: RunOptions = { ...PRESETS.cli, stream: options.stream, extract_code: options.code === true, signal };
  const ask = async (emitter: Emitter) => {
    const asking = { emitter, options: run };
    if (options.macro !== undefined) return conversation.line(`.macro ${options.macro} ${text}`, asking);
    const sources = (options.file ?? []).map(toSource);
    return conversation.ask(await conversation.input(text, sources, signal), asking);
  };
  return cli.json || options.code ? ask(nullEmitter) : shown.during(conversation, ask);
}
