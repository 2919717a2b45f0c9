import type { Conversation } from '../../../app/runtime/conversation.ts';
import type { Runtime } from '../../../app/runtime/open-runtime.ts';
import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Emitter, RunOutcome } from '../../../runtime/engine/emitter.ts';
import { nullEmitter, terminalEmitter } from '../../../runtime/engine/emitters.ts';
import { PRESETS, type RunOptions } from '../../../runtime/engine/engine.ts';
import { toSource } from '../../../runtime/engine/file-line.ts';
import type { RagHit } from '../../../runtime/rag/rag.ts';
import { createContext } from '../../../runtime/state/init.ts';
import { info } from '../../../runtime/state/show/info.ts';
import type { AskFn } from '../../../runtime/tools/tool.ts';
import type { PersonTeam } from '../../host/person-team.ts';
import type { ServiceFlag } from '../../repl/ask-services.ts';
import { enterScope, leaveScope, overridesOf, type ScopeOptions } from '../../repl/enter.ts';
import { interruptible } from '../../repl/interrupt.ts';
import { linePerson } from '../../repl/line-person.ts';
import { oneAtATime } from '../../repl/one-at-a-time.ts';
import { confirmsAll, converse, openPlace } from '../../repl/open.ts';
import { askNobody, askPerson, type Person, userPort } from '../../repl/person.ts';
import type { Cli, Command } from '../cli.ts';

export interface AskOptions extends ScopeOptions {
  macro?: string;
  execute?: true;
  code?: true;
  file?: string[];
  info?: true;
  headless?: true;
}

/** Flags that ask nothing; what they do is read when one is given. */
const SERVICES: readonly ServiceFlag[] = [
  'listModels',
  'listRoles',
  'listSessions',
  'listAgents',
  'listRags',
  'listMacros',
  'listSecrets',
  'addSecret',
  'getSecret',
  'updateSecret',
  'deleteSecret',
  'buildTools',
  'syncModels',
  'tailLogs',
  'authenticate',
  'completions',
];

/** One question, one context, one answer. */
export const ask: Command<AskOptions> = async (cli, words, options) => {
  if (SERVICES.some((flag) => Object.hasOwn(options, flag))) {
    const { serve } = await import('../../repl/ask-services.ts');
    return serve(cli, options);
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
  if (!cli.isInteractive) throw new ReefError('no_tty', 'there is no question, and no terminal to ask for one');
  const { chat } = await import('./chat.ts');
  return chat(cli, [], options);
}

interface Request {
  text: string;
  options: AskOptions;
  signal: AbortSignal;
}

async function answer(cli: Cli, { text, options, signal }: Request): Promise<number> {
  const person = cli.isInteractive && !options.headless ? linePerson(cli, signal) : undefined;
  const inTurn = oneAtATime();
  const askAtOnce = person ? askPerson(person) : askNobody;
  const askFn: AskFn = (question, signal) => inTurn(() => askAtOnce(question, signal), signal);
  const runtime = await openPlace({ cli, ask: askFn, askPassword: person?.secret, isOneShot: true });
  const confirmAll = confirmsAll(runtime, options);
  const team = mayUseAgent(options)
    ? await teamOf({ cli, runtime, ask: askFn, confirmAll, person, inTurn, options })
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
    const { offer } = await import('../../repl/execute.ts');
    return await offer(conversation, { cli, person, signal, command: outcome.final_message ?? '' });
  } finally {
    await leaveScope(ctx);
  }
}

/** Others pay nothing for what only agents need. */
const mayUseAgent = ({ agent, macro }: AskOptions) => agent !== undefined || macro !== undefined;

interface TeamSetting {
  cli: Cli;
  runtime: Runtime;
  ask: AskFn;
  confirmAll: boolean;
  person: Person | undefined;
  inTurn: ReturnType<typeof oneAtATime>;
  options: AskOptions;
}

/** Questions of children wait for whoever answers first, here or elsewhere; `--headless` waits for nobody. */
async function teamOf({ cli, person, inTurn, options, ...parts }: TeamSetting): Promise<PersonTeam> {
  const [{ openTeam }, { askQuestions, refuseQuestions, tellQuestions }] = await Promise.all([
    import('../../repl/team.ts'),
    import('../../repl/child-questions.ts'),
  ]);
  const atTerminal = person ? askQuestions({ cli, person, inTurn }) : tellQuestions(cli);
  return openTeam({ cli, ...parts, onAsked: options.headless ? refuseQuestions : atTerminal });
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

async function put(cli: Cli, conversation: Conversation, { text, options, signal }: Request): Promise<RunOutcome> {
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
