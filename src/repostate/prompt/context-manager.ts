import type { Redact } from '../../base/redact.ts';
import type { TokenCounter } from '../../base/tokens.ts';
import { ReefError } from '../../protocol/errors.ts';
import {
  type ContextNews,
  contextNewsSchema,
  type Message,
  type NoteKind,
  type RepoState,
  type RollReason,
} from '../../protocol/repostate.ts';
import { formatForPrompt } from '../snapshot/format.ts';
import { identifiersIn, namesOf, RecentNames } from '../snapshot/names.ts';
import type { CacheProfile, ContextParameters } from './cache-profile.ts';
import { capExchange, cleanExchange, wholeExchange } from './cap-exchange.ts';
import { artifactId, OWN_LIMITS, SNAPSHOT_MODE } from './caps.ts';
import { countedTokens, type Ledger, segmentOf } from './ledger.ts';
import { argumentTexts, type Exchange, textsOf, turnText } from './messages.ts';
import { makePrefix, type Prefix, type PrefixInput } from './prefix.ts';
import { exchangeEntry, keepAtRoll, noteEntry, type TailEntry } from './tail.ts';

export interface ManagerSettings extends PrefixInput {
  jobId: string;
  counter: TokenCounter;
  /** The number of tokens the model will report for this many tokens of the counter. The same by default. */
  estimate?(tokens: number): number;
  profile: CacheProfile;
  parameters: ContextParameters;
  redact: Redact;
  /** The worktree as it is now. Read at every roll. */
  state(): Readonly<RepoState>;
  /** Stores a text that the prompt leaves out. `settle` waits for it. */
  keep(text: string, from: { jobId: string; name?: string }): Promise<unknown>;
  /** Writes to the log, from which `restore` builds the same epoch and tail again. */
  tell(news: ContextNews): void;
}

export interface BuiltPrompt {
  messages: Message[];
  ledger: Ledger;
}

const REMINDER_TURNS = 8;

/**
 * Builds the prompts of one job. A snapshot is frozen for an epoch and exchanges are appended behind it, so each prompt
 * extends the one before and is read from the provider's cache. When the tail exceeds its budget, a roll renders a new
 * snapshot and drops all but the last exchanges. The dropped text stays one `artifact_read` away.
 */
export class ContextManager {
  readonly #settings: ManagerSettings;
  readonly #prefix: Prefix;
  readonly #names = new RecentNames();
  readonly #pending = new Set<Promise<unknown>>();
  #tail: TailEntry[] = [];
  #tailTokens = 0;
  #snapshot: { text: string; tokens: number };
  #epoch = 0;
  #turn = 0;
  #isStarted = false;
  #reminder: { text: string; turn: number } | undefined;
  #builtAt: number | undefined;
  #capped = new Map<number, string[]>();
  #failure: unknown;
  #mode: ContextParameters['mode'];

  constructor(settings: ManagerSettings) {
    this.#settings = settings;
    const { counter, parameters } = settings;
    this.#mode = parameters.mode;
    const taskTokens = this.#mode === 'snapshot' ? SNAPSHOT_MODE.task : OWN_LIMITS.task;
    this.#prefix = makePrefix(settings, counter, taskTokens);
    if (this.#prefix.wholeTask !== undefined) this.#keep(this.#prefix.wholeTask, 'task');
    this.#snapshot = this.#counted(this.#render());
  }

  get tailTokens(): number {
    return this.#tailTokens;
  }

  shows(turn: number): boolean {
    return this.#tail.some((entry) => entry.segment.kind === 'exchange' && entry.turn === turn);
  }

  append(exchange: Exchange): void {
    const { counter, parameters, redact } = this.#settings;
    const clean = cleanExchange(exchange, redact);
    const { messages, removed } =
      this.#mode === 'full'
        ? { messages: wholeExchange(clean), removed: [] }
        : capExchange(clean, { counter, turnTokens: parameters.tailBudget / 4 });
    for (const text of removed) this.#keep(text);
    this.#keep(turnText(clean), `t${clean.turn}`);
    const noops = new Set(clean.results.filter(({ noop }) => noop).map(({ id }) => id));
    const named = clean.calls.filter(({ id }) => !noops.has(id)).flatMap(({ args }) => [...argumentTexts(args)]);
    const { called, thought } = namesOf(named, clean.text);
    this.#start();
    const news = { kind: 'context.appended', turn: clean.turn, messages, called, thought } as const;
    if (removed.length > 0) this.#capped.set(clean.turn, removed.map(artifactId));
    this.#take(news);
    this.#settings.tell(news);
  }

  /** Adds a line of Reef's own, such as a state delta. It stays in place until the next roll. */
  note(text: string): void {
    this.#note(this.#settings.redact(text), 'delta');
  }

  /** Code of the project that the task is about. Prompts of mode `snapshot` have no room for it. */
  showCode(text: string): void {
    this.#note(this.#settings.redact(text), 'code');
  }

  /** Adds the reminder only when it is new or long ago: uncached text in every turn would cost 8 %. */
  remind(text: string): void {
    const last = this.#reminder;
    if (last?.text === text && this.#turn - last.turn < REMINDER_TURNS) return;
    if (this.#settings.counter.count(text) > OWN_LIMITS.reminder) {
      throw new ReefError('prompt_too_large', `A reminder has at most ${OWN_LIMITS.reminder} tokens.`);
    }
    this.#note(text, 'reminder');
  }

  /** Switches a job whose whole history does not fit to bounded prompts. Its turns are artifacts already. */
  keepBounded(): void {
    this.#mode = 'epoch';
  }

  build(now: number): BuiltPrompt {
    const reason = this.#dueReason(now);
    if (reason) this.roll(reason);
    this.#start();
    this.#builtAt = now;
    const isFresh = this.#mode === 'snapshot';
    const tail = isFresh ? this.#fitting() : this.#tail;
    const snapshot = isFresh ? this.#counted(this.#render(tail)) : this.#snapshot;
    this.#refuseTooLong();
    const messages = [
      ...this.#prefix.messages,
      { role: 'user' as const, text: snapshot.text },
      ...tail.flatMap((entry) => entry.messages),
    ];
    return { messages, ledger: this.#ledger(snapshot, tail) };
  }

  roll(reason: RollReason): void {
    const tokensBefore = this.#tailTokens;
    const dropped = this.#dropOld();
    this.#epoch++;
    this.#snapshot = this.#counted(this.#render());
    this.#keep(this.#snapshot.text);
    this.#settings.tell({
      kind: 'context.rolled',
      epoch: this.#epoch,
      reason,
      dropped,
      tokensBefore,
      tokensAfter: this.#tailTokens,
      snapshot: this.#snapshot.text,
    });
  }

  /** Restores epoch and tail from the log of an earlier process. Other events are ignored. */
  restore(log: Iterable<{ type: string; payload: unknown }>): void {
    for (const { type, payload } of log) {
      const news = type === 'progress' ? contextNewsSchema.safeParse(payload) : undefined;
      if (news?.success) this.#replay(news.data);
    }
  }

  /** Resolves when everything left out of prompts is stored. Await it before a prompt is sent. */
  async settle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  /** Logs the first snapshot: without it a restart would render another one. */
  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#keep(this.#snapshot.text);
    this.#settings.tell({ kind: 'context.started', snapshot: this.#snapshot.text });
  }

  #replay(news: ContextNews): void {
    this.#isStarted = true;
    if (news.kind === 'context.started') this.#snapshot = this.#counted(news.snapshot);
    else if (news.kind === 'context.appended') this.#take(news);
    else if (news.kind === 'context.noted') this.#takeNote(news);
    else if (news.kind === 'context.rolled' && this.#mode !== 'full') {
      this.#dropOld();
      this.#epoch = news.epoch;
      this.#snapshot = this.#counted(news.snapshot);
    }
  }

  #take(news: Extract<ContextNews, { kind: 'context.appended' }>): void {
    this.#turn = news.turn;
    this.#names.add(news);
    this.#push(exchangeEntry(this.#settings.counter, news.turn, news.messages));
  }

  #note(text: string, why: NoteKind): void {
    this.#start();
    const news = { kind: 'context.noted', turn: this.#turn, why, text } as const;
    this.#takeNote(news);
    this.#settings.tell(news);
  }

  #takeNote(news: Extract<ContextNews, { kind: 'context.noted' }>): void {
    if (news.why === 'reminder') this.#reminder = { text: news.text, turn: news.turn };
    this.#push(noteEntry(this.#settings.counter, news));
  }

  #push(entry: TailEntry): void {
    this.#tail.push(entry);
    this.#tailTokens += entry.segment.tokens;
  }

  #dueReason(now: number): RollReason | undefined {
    const { tailBudget } = this.#settings.parameters;
    if (this.#mode === 'full') return undefined;
    if (this.#tailTokens > tailBudget) return 'budget';
    if (this.#mode === 'snapshot') return undefined;
    const isIdle = this.#builtAt !== undefined && now - this.#builtAt > this.#settings.profile.ttlS * 1_000;
    return isIdle && this.#tailTokens > tailBudget / 2 ? 'idle' : undefined;
  }

  /** Nothing is cut silently: in mode `full` the caller learns that the history does not fit. */
  #refuseTooLong(): void {
    const { window } = this.#settings.parameters;
    const { tokens: prefix, toolTokens } = this.#prefix;
    const tokens = this.#estimate(prefix + toolTokens + this.#snapshot.tokens + this.#tailTokens);
    if (this.#mode !== 'full' || tokens <= window) return;
    const message = `The history has ${tokens} tokens; the window of the model is ${window}.`;
    throw new ReefError('fallback_too_large', message, { details: { tokens, window } });
  }

  /** Keeps the last exchanges and returns the turns it dropped. The reminder is dropped too and may return at once. */
  #dropOld(): number[] {
    const { parameters, counter } = this.#settings;
    const fill = parameters.fillTo - this.#prefix.tokens - this.#snapshot.tokens;
    const limits = { keep: parameters.keep, most: parameters.tailBudget / 2, fill };
    const kept = keepAtRoll(this.#tail, limits, counter);
    const staying = new Set(kept.map(({ turn }) => turn));
    const exchanges = this.#tail.filter(({ segment }) => segment.kind === 'exchange');
    this.#tail = kept;
    this.#tailTokens = kept.reduce((sum, { segment }) => sum + segment.tokens, 0);
    this.#reminder = undefined;
    for (const turn of this.#capped.keys()) if (!staying.has(turn)) this.#capped.delete(turn);
    return exchanges.map(({ turn }) => turn).filter((turn) => !staying.has(turn));
  }

  #render(tail: readonly TailEntry[] = this.#tail): string {
    const { counter, redact, jobId } = this.#settings;
    const last = lastLeftOut(tail);
    const options = {
      count: counter.count,
      redact,
      jobId,
      epoch: { n: this.#epoch, turn: this.#turn, ...(last !== undefined && { earlier: [0, last] as const }) },
      ...(this.#mode === 'snapshot' && { target: SNAPSHOT_MODE.snapshot }),
    };
    const state = this.#settings.state();
    const inTail = tail.flatMap(({ messages }) => messages.flatMap((message) => [...textsOf(message)]));
    const texts = [formatForPrompt(state, options), ...inTail];
    const shown = new Set([...this.#prefix.identifiers, ...texts.flatMap((text) => [...identifiersIn(text)])]);
    return formatForPrompt(state, { ...options, names: this.#names.candidates((name) => shown.has(name)) });
  }

  /** In mode `snapshot`: the latest exchanges, at least one, that leave the prompt under 5,000 tokens. */
  #fitting(): TailEntry[] {
    const { counter } = this.#settings;
    const room = SNAPSHOT_MODE.total - 1 - this.#prefix.tokens - this.#prefix.toolTokens - OWN_LIMITS.snapshot;
    return keepAtRoll(this.#tail, { keep: this.#tail.length, most: room, fill: 0 }, counter);
  }

  #ledger(snapshot: { text: string; tokens: number }, tail: readonly TailEntry[]): Ledger {
    const shown = new Set(tail.map(({ turn }) => turn));
    const last = lastLeftOut(tail);
    const capped = [...this.#capped].filter(([turn]) => shown.has(turn)).flatMap(([, ids]) => ids);
    const segments = [
      ...this.#prefix.segments,
      segmentOf('snapshot', snapshot.text, snapshot.tokens),
      ...tail.map(({ segment }) => segment),
    ];
    return {
      turn: this.#turn,
      epoch: this.#epoch,
      mode: this.#mode,
      segments,
      exclusions: [
        ...(last === undefined ? [] : [{ id: `t0..t${last}`, why: 'rolled' as const }]),
        ...capped.map((id) => ({ id, why: 'capped' as const })),
      ],
      estimated: this.#estimate(countedTokens({ segments })),
    };
  }

  #estimate(tokens: number): number {
    return this.#settings.estimate?.(tokens) ?? tokens;
  }

  #counted(text: string): { text: string; tokens: number } {
    return { text, tokens: this.#settings.counter.count(text) };
  }

  #keep(text: string, name?: string): void {
    const { jobId } = this.#settings;
    const put = this.#settings
      .keep(text, { jobId, ...(name !== undefined && { name }) })
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#pending.delete(put));
    this.#pending.add(put);
  }
}

/** Only the beginning of a history is ever left out: this is its last turn. */
function lastLeftOut([first]: readonly TailEntry[]): number | undefined {
  return first && first.turn > 0 ? first.turn - 1 : undefined;
}
