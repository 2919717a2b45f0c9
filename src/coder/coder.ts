import { ReefError } from '../protocol/errors.ts';
import { type ContextNews, contextNewsSchema, type RepoState } from '../protocol/repostate.ts';
import { ProgressWatch } from '../repostate/detect/progress-watch.ts';
import { RewriteWatch } from '../repostate/detect/rewrite-watch.ts';
import { FileTools } from '../repostate/files/file-tools.ts';
import { cutToTokens, OWN_LIMITS } from '../repostate/prompt/caps.ts';
import { ContextManager } from '../repostate/prompt/context-manager.ts';
import { CacheWatch, countedTokens, type Ledger, type ReportedCall } from '../repostate/prompt/ledger.ts';
import { TaskList } from '../repostate/state/task-list.ts';
import type { EngineEvent } from '../runtime/engine/emitter.ts';
import type { TurnDeps, TurnResult } from '../runtime/engine/turn-deps.ts';
import { runTurn } from '../runtime/engine/turn-loop.ts';
import { type Message, userText } from '../runtime/models/message.ts';
import { createFunctions, type Functions, type ToolCallTracker } from '../runtime/tools/tool.ts';
import { BoundedPrompt } from './bounded-prompt.ts';
import type { CoderDeps, CoderUsage } from './coder-deps.ts';
import { firstLook } from './first-look.ts';
import { SYSTEM_TEXT } from './system-text.ts';
import { commandTool, runLine } from './tools/command.ts';
import { doneTool } from './tools/done.ts';
import { fileTools } from './tools/files.ts';
import { codeTools, stateTools } from './tools/state.ts';
import { answerText, askTool, todoTool } from './tools/talk.ts';
import { type Repeats, repeatWatch, watchTools } from './tools/watched.ts';

export interface CoderEnd {
  result: string;
  /** `criteria`: everything was done, but the agent did not call `done`. */
  endedBy: 'done' | 'criteria' | 'person';
}

/** What earlier processes of the job did. */
interface Earlier {
  turn: number;
  used: CoderUsage;
  /** Newest last. From them Reef learns how the model counts tokens. */
  calls?: readonly ReportedCall[];
}

/** The prompt itself bounds results, and keeps the rest as artifacts. */
const UNCAPPED: TurnDeps['outputs'] = { cap: async (output) => output };
/** The coder's own detectors judge repetition: they know the tree, and ask before they end anything. */
const UNGUARDED: ToolCallTracker = { reset: () => {}, nextStep: () => {}, record: () => 'ok' };
const NUDGE = 'You called no tool. Every reply calls at least one; when the task is done call done.';
const WARN_AT = 0.8;
/** Pauses while a provider cannot be reached: longer each time, a quarter of an hour in all. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
const PATIENCE_MS = 15 * 60_000;

/** Ends the engine's turn from within. */
class Ending extends ReefError {
  readonly end: CoderEnd;

  constructor(end: CoderEnd) {
    super('cancelled', end.result);
    this.end = end;
  }
}

/** Reef's own coding agent: the engine's loop over bounded prompts, file tools that see before they write, and a checked end. */
export class Coder {
  readonly #deps: CoderDeps;
  readonly #context: ContextManager;
  readonly #prompt: BoundedPrompt;
  readonly #functions: Functions;
  readonly #repeats: Repeats;
  readonly #rewrites: RewriteWatch;
  readonly #todos = new TaskList();
  #progress: ProgressWatch;
  readonly #cache: CacheWatch;
  readonly #readings = new Set<string>();
  /** Segments that were already reported to break the provider's cache. */
  readonly #missed = new Set<string>();
  readonly #startedAt: number;
  /** News of the prompt that are not in the log yet. */
  #unsaid: ContextNews[] = [];
  #hasNewReading = false;
  #turn = 0;
  readonly #task: string;
  /** Also in an earlier process of the job. */
  #hasLooked = false;
  #used: CoderUsage = { tokens: 0, usd: 0 };
  /** The last call whose size is known. */
  #anchor = { counted: 0, reported: 0 };
  #accepted: string | undefined;
  /** How often a person has extended the budget. */
  #grants = 1;

  constructor(deps: CoderDeps, task: string) {
    this.#deps = deps;
    this.#task = task;
    this.#startedAt = deps.clock.monotonicMs();
    this.#repeats = repeatWatch(deps);
    this.#rewrites = new RewriteWatch(deps.tell);
    this.#progress = new ProgressWatch(deps.tell);
    this.#cache = new CacheWatch(deps.profile);
    this.#todos.load(deps.tracker.getSnapshot().openTasks);
    this.#functions = createFunctions(this.#tools());
    const { jobId, counter, profile, parameters, redact, tracker, artifacts, instructions } = deps;
    this.#context = new ContextManager({
      jobId,
      counter,
      profile,
      parameters,
      redact,
      system: SYSTEM_TEXT,
      task,
      ...(instructions !== undefined && { instructions }),
      tools: this.#functions.declarations(),
      estimate: (tokens) => this.#estimate(tokens),
      state: () => tracker.getSnapshot(),
      keep: (text, from) => artifacts.put(text, from),
      tell: (news) => this.#unsaid.push(news),
    });
    this.#prompt = new BoundedPrompt(deps, this.#context, () => this.#turn);
  }

  /** Continues where an earlier process stopped: with its epoch and tail, and with what it used. */
  restore(log: Iterable<{ type: string; payload: unknown }>, { turn, used, calls = [] }: Earlier): void {
    const entries = [...log];
    this.#context.restore(entries);
    this.#turn = turn;
    this.#hasLooked = turn > 0 || entries.some(isFirstLook);
    this.#used = used;
    for (const call of calls) this.#learn(call, call.reported.input);
  }

  /** Tells the agent of something that happened between turns, such as a change from outside. */
  note(line: string): void {
    this.#context.note(line);
  }

  /** What a person says after the task. As much as a task may have is shown, the rest is an artifact. */
  async tell(message: string): Promise<void> {
    const { counter, artifacts, jobId } = this.#deps;
    const { text, id } = cutToTokens(counter, message, { tokens: OWN_LIMITS.task });
    if (id !== undefined) await artifacts.put(message, { jobId });
    this.#context.note(`The person says: ${text}`);
    this.#beginAnew();
  }

  /** Works until the task is done. Rejects with the reason when something stops it; the work is kept. */
  async work(signal: AbortSignal): Promise<CoderEnd> {
    let nudges = 0;
    for (;;) {
      this.#accepted = undefined;
      this.#prompt.begin();
      const turn = await runTurn(this.#turnDeps(signal), [userText('Go on.')]);
      this.#prompt.take(turn.messages);
      await this.#settle();
      if (turn.error instanceof Ending) return turn.error.end;
      if (turn.error) throw turn.error;
      if (this.#accepted !== undefined) return { result: this.#accepted, endedBy: 'done' };
      nudges = turn.tool_call_count > 0 ? 1 : nudges + 1;
      if (nudges > 1) throw new ReefError('no_tool_call', 'The model answered twice without calling a tool.');
      this.#context.note(NUDGE);
    }
  }

  /** More work came: a plan that is already carried out would end it as done, so it goes. */
  #beginAnew(): void {
    const { tracker, tell } = this.#deps;
    this.#progress = new ProgressWatch(tell);
    if (this.#todos.list().some(({ status }) => status !== 'completed')) return;
    this.#todos.set([]);
    tracker.setTasks([]);
  }

  #tools() {
    const { tracker, dir, checks, jobId, guards = true } = this.#deps;
    const seen = seenBy(jobId, tracker.getSnapshot());
    const files = new FileTools({ dir, rewrites: this.#rewrites, guards, seen });
    const deps = { ...this.#deps, files, repeats: this.#repeats, rewrites: this.#rewrites };
    const tools = [
      ...fileTools({
        ...deps,
        isShown: (turn) => this.#context.shows(turn),
        onReading: (key) => {
          this.#hasNewReading ||= !this.#readings.has(key);
          this.#readings.add(key);
        },
      }),
      ...codeTools(this.#deps),
      commandTool(deps),
      askTool(this.#deps),
      todoTool(this.#todos, this.#deps),
      ...stateTools(this.#deps),
      doneTool({ tracker, dir, checks, run: (command, how) => runLine(deps, command, how) }),
    ];
    const warn = (message: string) => this.#emit({ type: 'warning', message });
    return watchTools(tools, { repeats: this.#repeats, tracker, warn });
  }

  #turnDeps(signal: AbortSignal): TurnDeps {
    const { client, model, gate, ask, cwd, budget } = this.#deps;
    return {
      client,
      model,
      gate,
      ask,
      cwd,
      signal,
      agent: 'coder',
      settings: { temperature: null, top_p: null, max_output_tokens: null, stream: true },
      prompt: { build: (messages) => this.#buildPrompt(messages) },
      functions: this.#functions,
      tracker: UNGUARDED,
      outputs: UNCAPPED,
      maxSteps: budget.turns * 10,
      emit: (event) => this.#emit(event),
      beforeStep: (progress) => this.#beforeTurn(progress, signal),
      onOutage: (error, attempt) => this.#waitOut(error, attempt, signal),
      isFinal: (call, output) => this.#isFinal(call.name, output),
    };
  }

  /** False when the provider was away for too long. The turn stays the same. */
  async #waitOut({ code, message }: ReefError, attempt: number, signal: AbortSignal): Promise<boolean> {
    const pauses = Array.from({ length: attempt }, (_, n) => Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** n));
    const pause = pauses.at(-1) ?? 0;
    if (pauses.reduce((sum, ms) => sum + ms, 0) > PATIENCE_MS) return false;
    const seconds = Math.round(pause / 1_000);
    this.#emit({ type: 'warning', message: `${code}: ${message} Tried again in ${seconds} s.` });
    await this.#deps.clock.sleep(pause, signal);
    return !signal.aborted;
  }

  #isFinal(name: string, output: string): boolean {
    if (name !== 'done' || output.startsWith('{"tool_call_error"')) return false;
    this.#accepted = output;
    return true;
  }

  async #buildPrompt(messages: readonly Message[]): Promise<Message[]> {
    const prompt = this.#fittingPrompt(messages);
    await this.#settle();
    return prompt;
  }

  #fittingPrompt(messages: readonly Message[]): Message[] {
    try {
      return this.#prompt.build(messages);
    } catch (error) {
      if (!(error instanceof ReefError && error.code === 'fallback_too_large')) throw error;
      this.#emit({ type: 'warning', message: `${error.code}: ${error.message} Prompts are bounded from here on.` });
      this.#context.keepBounded();
      return this.#prompt.build(messages);
    }
  }

  /** Stores what was cut from the prompt before the log says so. */
  async #settle(): Promise<void> {
    await this.#context.settle();
    for (const news of this.#unsaid.splice(0)) this.#deps.tell(news);
  }

  /** One turn of the coder is one step of the engine. */
  async #beforeTurn({ steps, messages }: TurnResult, signal: AbortSignal): Promise<void> {
    const { tracker } = this.#deps;
    // The exchange comes before Reef's notes about it.
    this.#prompt.take(messages);
    await this.#settle();
    if (steps > 0) await this.#judge(signal);
    this.#turn += 1;
    tracker.beginTurn(this.#turn);
    this.#repeats.beginTurn(this.#turn);
    this.#rewrites.beginTurn(this.#turn);
    const { lines } = await tracker.refresh('turn');
    for (const line of lines) this.#context.note(line);
    await this.#look(signal);
    await this.#checkBudget(signal);
  }

  /** Shows the code that the task is about, so that the first calls need not search for it. */
  async #look(signal: AbortSignal): Promise<void> {
    const { firstLook: tokens = 0, parameters } = this.#deps;
    if (this.#hasLooked || tokens === 0 || parameters.mode === 'snapshot') return;
    this.#hasLooked = true;
    this.#context.showCode(await firstLook(this.#deps, { task: this.#task, tokens }, signal));
  }

  async #judge(signal: AbortSignal): Promise<void> {
    const { tracker, checks, ask, guards = true } = this.#deps;
    if (!guards) return;
    const facts = {
      turn: this.#turn,
      state: tracker.getSnapshot(),
      hasNewReading: this.#hasNewReading,
      isCircling: this.#rewrites.isCircling,
      required: Object.keys(checks),
    };
    this.#hasNewReading = false;
    const verdict = this.#progress.judge(facts);
    if (verdict.is === 'remind') this.#context.remind(verdict.text);
    if (verdict.is === 'complete') throw new Ending({ result: 'All criteria are met.', endedBy: 'criteria' });
    if (verdict.is !== 'ask') return;
    const said = answerText(
      await ask({ kind: 'choice', question: verdict.question, options: verdict.options }, signal),
    );
    if (said === 'stop' || said === 'finish')
      throw new Ending({ result: `Ended by a person: ${verdict.question}`, endedBy: 'person' });
  }

  async #checkBudget(signal: AbortSignal): Promise<void> {
    const { budget, clock, ask } = this.#deps;
    const used = { ...this.#used, turns: this.#turn - 1, ms: clock.monotonicMs() - this.#startedAt };
    const share = Math.max(
      ...(['turns', 'tokens', 'ms', 'usd'] as const).map(
        (what) => used[what] / ((budget[what] ?? Number.POSITIVE_INFINITY) * this.#grants),
      ),
    );
    if (share >= WARN_AT)
      this.#context.remind('Your budget is nearly used up: finish with what you have, then call done.');
    if (share < 1) return;
    const question = `The budget is used up (${used.turns} turns, ${used.tokens} tokens). What now?`;
    const answer = await ask({ kind: 'choice', question, options: ['continue', 'stop'] }, signal);
    if (answer.kind === 'choice' && answer.choice === 'continue') this.#grants += 1;
    else throw new ReefError('budget_exhausted', 'The budget is used up; the work is kept.');
  }

  #emit(event: EngineEvent): void {
    if (event.type === 'assistant_message_end' && !event.interrupted) this.#account(event);
    this.#deps.emit(event);
  }

  #learn(ledger: Ledger, reported: number): void {
    const counted = countedTokens(ledger);
    this.#deps.counter.observe(this.#deps.model.id, counted, reported);
    if (reported > 0) this.#anchor = { counted, reported };
  }

  /** Only what came since the last call is estimated. */
  #estimate(tokens: number): number {
    const { counted, reported } = this.#anchor;
    return reported + this.#deps.counter.estimate(this.#deps.model.id, tokens - counted);
  }

  #account({ usage, cost }: Extract<EngineEvent, { type: 'assistant_message_end' }>): void {
    const ledger = this.#prompt.lastLedger;
    this.#used.tokens += usage.input + usage.output;
    this.#used.usd += cost ?? 0;
    if (!ledger) return;
    const reported = { input: usage.input, cacheRead: usage.cached, cacheWrite: 0, ...(cost !== null && { cost }) };
    this.#deps.record(ledger, reported);
    this.#learn(ledger, usage.input);
    const segment = this.#cache.observe(ledger, reported);
    if (segment === undefined || this.#missed.has(segment)) return;
    this.#missed.add(segment);
    this.#deps.tell({ kind: 'context.cache_miss', turn: this.#turn, segment });
  }
}

/** The files that this job knew when its last process ended, without those that others changed since. */
function seenBy(jobId: string, { files }: Readonly<RepoState>): Map<string, string> {
  const known = files.filter(({ read, wrote }) => {
    const looked = read?.jobId === jobId ? read.turn : -1;
    const isOwn = wrote === undefined || (wrote.jobId === jobId && wrote.via === 'tool');
    return isOwn ? looked >= 0 || wrote !== undefined : looked > wrote.turn;
  });
  return new Map(known.map(({ path, hash }) => [path, hash]));
}

function isFirstLook({ payload }: { payload: unknown }): boolean {
  const news = contextNewsSchema.safeParse(payload);
  return news.success && news.data.kind === 'context.noted' && news.data.why === 'code';
}
