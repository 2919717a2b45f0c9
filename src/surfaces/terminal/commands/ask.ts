import type { Dialogue } from '../../../app/runtime/dialogue.ts';
import type { Runtime } from '../../../app/runtime/open-runtime.ts';
import { printable } from '../../../base/printable.ts';
import { Limiter } from '../../../base/serial.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { type Emitter, nullEmitter, type RunOutcome, terminalEmitter } from '../../../runtime/engine/emitter.ts';
import { PRESETS, type RunOptions } from '../../../runtime/engine/engine.ts';
import { toSource } from '../../../runtime/engine/input.ts';
import type { RagHit } from '../../../runtime/rag/rag.ts';
import { info } from '../../../runtime/state/info.ts';
import { createContext } from '../../../runtime/state/init.ts';
import type { AskFn } from '../../../runtime/tools/tool.ts';
import type { ChatTeam } from '../../native-agent/chat-team.ts';
import {
  confirmsAll,
  converse,
  enterScope,
  leaveScope,
  openTerminalRuntime,
  overridesOf,
  type ScopeOptions,
} from '../chat/conversation.ts';
import type { Cli, Command } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';
import { linePerson } from '../prompt/line-person.ts';
import { askNobody, askPerson, type Person, userPort } from '../prompt/person.ts';
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

/** One question, one context, one answer. */
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

/** What is piped in comes after the words; for a macro, as the text of its last value. */
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

async function answer(cli: Cli, { text, options, signal }: Request): Promise<number> {
  const person = cli.isInteractive && !options.headless ? linePerson(cli, signal) : undefined;
  const turns = new Limiter();
  const askFn = person ? askPerson(person, turns) : askNobody;
  const runtime = await openTerminalRuntime({ cli, ask: askFn, askPassword: person?.secret, isOneShot: true });
  const confirmAll = confirmsAll(runtime, options);
  const team = mayUseAgent(options)
    ? await teamOf({ cli, runtime, ask: askFn, confirmAll, person, turns, options })
    : undefined;
  const ctx = createContext(team?.app ?? runtime.app, {
    workingMode: 'cmd',
    overrides: overridesOf(options),
    ...(person && { ui: userPort(person) }),
    infoFlag: options.info === true,
  });
  try {
    await enterScope(ctx, withRole(options), signal);
    if (options.info) {
      const words = info(ctx.app.config, ctx);
      cli.print({ info: words }, () => words.trimEnd());
      return 0;
    }
    const conversation = converse(ctx, { cli, runtime, ask: askFn, face: {}, confirmAll, drive: team?.run });
    const outcome = await put(cli, conversation, { text, options, signal });
    show(cli, { outcome, sources: conversation.sources, isCode: options.code === true });
    if (!options.execute || !person || cli.json) return 0;
    const { offer } = await import('../chat/execute.ts');
    return await offer(conversation, { cli, person, signal, command: outcome.final_message ?? '' });
  } finally {
    await leaveScope(ctx);
  }
}

/** Others do not pay for what only agents need. */
const mayUseAgent = ({ agent, macro }: AskOptions) => agent !== undefined || macro !== undefined;

interface TeamSetting {
  cli: Cli;
  runtime: Runtime;
  ask: AskFn;
  confirmAll: boolean;
  person: Person | undefined;
  turns: Limiter;
  options: AskOptions;
}

/** Questions of children wait for the first answer, given here or elsewhere; `--headless` waits for nobody. */
async function teamOf({ cli, person, turns, options, ...deps }: TeamSetting): Promise<ChatTeam> {
  const [{ openTeam }, { askQuestions, refuseQuestions, tellQuestions }] = await Promise.all([
    import('../chat/jobs.ts'),
    import('../prompt/job-questions.ts'),
  ]);
  const atTerminal = person ? askQuestions({ cli, person, turns }) : tellQuestions(cli);
  return openTeam({ cli, ...deps, onAsked: options.headless ? refuseQuestions : atTerminal });
}

/** What is not on the screen yet: the document, the code alone, and where the answer came from. */
function show(cli: Cli, { outcome, sources, isCode }: Shown): void {
  const found = sources.map(({ source, chunk, score }) => ({ source, chunk, score }));
  if (cli.json) cli.out(JSON.stringify({ ...outcome, ...(found.length > 0 && { sources: found }) }));
  else if (isCode) cli.out(outcome.final_message ?? '');
  if (!cli.json) for (const { source, chunk } of found) cli.talk(printable(`source: ${source}, chunk ${chunk}`));
}

interface Shown {
  outcome: RunOutcome;
  sources: readonly RagHit[];
  isCode: boolean;
}

/** `-c` and `-e` are roles of ours, where none is chosen. */
function withRole(options: AskOptions): AskOptions {
  if (options.role !== undefined || options.prompt !== undefined || options.agent !== undefined) return options;
  if (options.execute) return { ...options, role: 'shell' };
  return options.code ? { ...options, role: 'code' } : options;
}

async function put(cli: Cli, conversation: Dialogue, { text, options, signal }: Request): Promise<RunOutcome> {
  const run: RunOptions = { ...PRESETS.cli, stream: options.stream, extract_code: options.code === true, signal };
  const asking = { emitter: cli.json || options.code ? nullEmitter : emitterOf(cli), options: run };
  if (options.macro !== undefined) return conversation.line(`.macro ${options.macro} ${text}`, asking);
  const sources = (options.file ?? []).map(toSource);
  return conversation.ask(await conversation.input(text, sources, signal), asking);
}

/** The answer to stdout, all else to stderr; errors are told by whoever runs the command. */
function emitterOf({ host }: Cli): Emitter {
  const terminal = terminalEmitter({
    answer: (text) => void host.stdout.write(text),
    notes: (text) => void host.stderr.write(text),
  });
  return { emit: (event) => (event.type === 'error' ? undefined : terminal.emit(event)) };
}
