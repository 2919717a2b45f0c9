import { createHash } from 'node:crypto';
import type { TokenCounter } from '../../src/base/tokens.ts';
import type { Message, RepoState } from '../../src/protocol/repostate.ts';
import type { ArtifactStore } from '../../src/repostate/artifacts/artifact-store.ts';
import { OWN_LIMITS } from '../../src/repostate/prompt/caps.ts';
import type { BuiltPrompt } from '../../src/repostate/prompt/context-manager.ts';
import { argumentTexts, countMessage, type Exchange, textsOf } from '../../src/repostate/prompt/messages.ts';
import { identifiersIn } from '../../src/repostate/snapshot/names.ts';
import { type Block, type Charge, PrefixCache } from './cache-model.ts';
import { STRATEGIES } from './strategies.ts';
import type { Trajectory } from './trajectory.ts';

export interface RunMeasure {
  charges: Charge[];
  /** References of calls to names seen before, and how many of them the prompt still held. */
  references: number;
  inPrompt: number;
  /** Not counting the `Names` line. */
  withoutNames: number;
  withArtifacts: number;
  snapshots: number[];
  own: number[];
  /** Of each prompt; empty for strategies that have none. */
  epochs: number[];
}

interface Seen extends Block {
  names: ReadonlySet<string>;
}

/** Messages are few and prompts many: each is counted, hashed and searched once. */
export class Reader {
  readonly #counter: TokenCounter;
  readonly #seen = new WeakMap<Message, Seen>();

  constructor(counter: TokenCounter) {
    this.#counter = counter;
  }

  see(message: Message): Seen {
    const known = this.#seen.get(message);
    if (known) return known;
    const text = [...textsOf(message)].join('\n');
    const key = createHash('sha1').update(message.role).update(text).digest('base64');
    const seen = { key, tokens: countMessage(this.#counter, message), names: identifiersIn(text) };
    this.#seen.set(message, seen);
    return seen;
  }
}

export interface MeasureInput {
  run: Trajectory;
  exchanges: readonly Exchange[];
  states: readonly Readonly<RepoState>[];
  counter: TokenCounter;
  reader: Reader;
  store: ArtifactStore;
}

/** Plays a run through one strategy, the agent's actions held as they were recorded. */
export async function measureRun(name: string, minPrefix: number, input: MeasureInput): Promise<RunMeasure> {
  const { run, exchanges, reader } = input;
  let turn = 0;
  const state = () => input.states[turn] as Readonly<RepoState>;
  const strategy = STRATEGIES[name]?.({ run, counter: input.counter, state, store: input.store, minPrefix });
  if (!strategy) throw new Error(`there is no strategy ${name}`);
  const cache = new PrefixCache();
  const base = identifiersIn(`${run.system}\n${run.task}`);
  const known = new Set<string>();
  const library = new Library(input.store);
  const measure: RunMeasure = {
    charges: [],
    references: 0,
    inPrompt: 0,
    withoutNames: 0,
    withArtifacts: 0,
    snapshots: [],
    own: [],
    epochs: [],
  };
  for (const [n, exchange] of exchanges.entries()) {
    turn = n;
    const messages = strategy.prompt(n);
    await strategy.settle?.();
    const seen = messages.map((message) => reader.see(message));
    measure.charges.push(cache.charge(seen));
    const built = strategy.built?.();
    if (built) noteOwn(measure, built);
    const wanted = [...namesInCalls(exchange)].filter((word) => known.has(word) && !base.has(word));
    await recall(measure, wanted, { messages, seen, library, built });
    for (const word of namesInExchange(exchange)) known.add(word);
    strategy.took(exchange);
  }
  return measure;
}

function namesInCalls({ calls }: Exchange): Set<string> {
  return identifiersIn(calls.flatMap(({ args }) => [...argumentTexts(args)]).join('\n'));
}

function namesInExchange(exchange: Exchange): Set<string> {
  const calls = exchange.calls.flatMap(({ args }) => [...argumentTexts(args)]);
  return identifiersIn([exchange.text, ...calls, ...exchange.results.map(({ text }) => text)].join('\n'));
}

function noteOwn(measure: RunMeasure, { ledger }: BuiltPrompt): void {
  const tokensOf = (kind: string) =>
    ledger.segments.reduce((sum, segment) => sum + (segment.kind === kind ? segment.tokens : 0), 0);
  measure.epochs.push(ledger.epoch);
  measure.snapshots.push(tokensOf('snapshot'));
  // The coder's tools and system at their limits, the reminder at its: no run can have more of Reef's text than this.
  measure.own.push(
    OWN_LIMITS.tools + OWN_LIMITS.system + OWN_LIMITS.reminder + tokensOf('task') + tokensOf('snapshot'),
  );
}

interface Shown {
  messages: readonly Message[];
  seen: readonly Seen[];
  library: Library;
  built: BuiltPrompt | undefined;
}

async function recall(measure: RunMeasure, wanted: readonly string[], shown: Shown): Promise<void> {
  if (wanted.length === 0) return;
  const named = shown.built ? namesLineOf(shown.messages) : undefined;
  for (const word of wanted) {
    measure.references++;
    const isElsewhere = shown.seen.some(({ names }, index) =>
      named?.index === index ? named.others.has(word) : names.has(word),
    );
    const isInPrompt = isElsewhere || (named?.names.has(word) ?? false);
    measure.withoutNames += Number(isElsewhere);
    measure.inPrompt += Number(isInPrompt);
    const isReachable = isInPrompt || (shown.built !== undefined && (await shown.library.has(word, shown.messages)));
    measure.withArtifacts += Number(isReachable);
  }
}

/** The snapshot's `Names` line apart from the rest of it. */
function namesLineOf(
  messages: readonly Message[],
): { index: number; names: Set<string>; others: Set<string> } | undefined {
  const index = messages.findIndex(({ text }) => text.startsWith('--- Repository State ---'));
  const lines = messages[index]?.text.split('\n') ?? [];
  const isNames = (line: string) => line.startsWith('Names:');
  return {
    index,
    names: identifiersIn(lines.filter(isNames).join('\n')),
    others: identifiersIn(lines.filter((line) => !isNames(line)).join('\n')),
  };
}

const REFERENCE = /artifact_read "([^"]+)"(?:\.\."t(\d+)")?/g;

/** What an agent could still get: it follows the references a prompt shows, by the real `artifact_read`. */
class Library {
  readonly #store: ArtifactStore;
  readonly #names = new Map<string, Set<string>>();

  constructor(store: ArtifactStore) {
    this.#store = store;
  }

  async has(word: string, messages: readonly Message[]): Promise<boolean> {
    for (const id of referencesIn(messages)) if ((await this.#namesIn(id)).has(word)) return true;
    return false;
  }

  async #namesIn(id: string): Promise<Set<string>> {
    const known = this.#names.get(id);
    if (known) return known;
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page: { text: string; nextOffset?: number | undefined } = await this.#store
        .read(id, { offset })
        .catch(() => ({ text: '', nextOffset: undefined }));
      text += page.text;
      offset = page.nextOffset;
    }
    const names = identifiersIn(text);
    this.#names.set(id, names);
    return names;
  }
}

function referencesIn(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>();
  for (const message of messages) {
    for (const text of textsOf(message)) {
      for (const [, id = '', to] of text.matchAll(REFERENCE)) {
        ids.add(id);
        for (let turn = Number(to ?? -1); turn >= 0; turn--) ids.add(`t${turn}`);
      }
    }
  }
  return ids;
}
