import type { TokenCounter } from '../../src/base/tokens.ts';
import type { Message, RepoState } from '../../src/protocol/repostate.ts';
import type { ArtifactStore } from '../../src/repostate/artifacts/artifact-store.ts';
import { type CacheProfile, parametersFor } from '../../src/repostate/prompt/cache-profile.ts';
import { OWN_LIMITS } from '../../src/repostate/prompt/caps.ts';
import { type BuiltPrompt, ContextManager } from '../../src/repostate/prompt/context-manager.ts';
import type { Exchange } from '../../src/repostate/prompt/messages.ts';
import { formatForPrompt } from '../../src/repostate/snapshot/format.ts';
import type { Trajectory } from './trajectory.ts';

/** Everything a strategy may know when it builds the prompt of a turn: what came before it. */
export interface Past {
  run: Trajectory;
  counter: TokenCounter;
  state(): Readonly<RepoState>;
  store: ArtifactStore;
  /** Of the provider, for those who care. */
  minPrefix: number;
}

export interface Strategy {
  prompt(turn: number): Message[];
  took(exchange: Exchange): void;
  /** What the product tells of its own prompt. */
  built?(): BuiltPrompt;
  settle?(): Promise<void>;
}

type Make = (past: Past) => Strategy;

const head = ({ run }: Past): Message[] => [
  { role: 'system', text: run.system },
  { role: 'user', text: run.task },
];

function messagesOf({ text, calls, results }: Exchange): Message[] {
  return [
    { role: 'assistant', text, calls: [...calls] },
    ...results.map((result) => ({ role: 'tool' as const, id: result.id, text: result.text })),
  ];
}

const full: Make = (past) => {
  const messages = head(past);
  return { prompt: () => [...messages], took: (exchange) => void messages.push(...messagesOf(exchange)) };
};

/** Seed 004: a snapshot rendered every turn, and the last exchanges. */
const last =
  (count: number): Make =>
  (past) => {
    const exchanges: Message[][] = [];
    return {
      prompt: () => {
        const snapshot = formatForPrompt(past.state(), { count: past.counter.count });
        return [...head(past), { role: 'user', text: snapshot }, ...exchanges.slice(-count).flat()];
      },
      took: (exchange) => void exchanges.push(messagesOf(exchange)),
    };
  };

/** All exchanges, but only the last results in full: what several agents do each turn. */
const mask =
  (count: number): Make =>
  (past) => {
    const exchanges: { whole: Message[]; masked: Message[] }[] = [];
    const masked = (messages: Message[]) =>
      messages.map((message) => (message.role === 'tool' ? { ...message, text: '[old output removed]' } : message));
    return {
      prompt: () => {
        const old = exchanges.slice(0, -count).flatMap((exchange) => exchange.masked);
        return [...head(past), ...old, ...exchanges.slice(-count).flatMap(({ whole }) => whole)];
      },
      took: (exchange) => {
        const whole = messagesOf(exchange);
        exchanges.push({ whole, masked: masked(whole) });
      },
    };
  };

const WINDOW = 200_000;

/** The product's own context manager, with the recorded system and task in the place of the coder's. */
const epoch =
  (tailBudget: number): Make =>
  (past) => {
    const { run, counter, minPrefix } = past;
    const profile: CacheProfile = {
      readFactor: 0.1,
      minPrefix,
      ttlS: 300,
      reasoning: false,
    };
    const isLong = counter.count(run.system) > OWN_LIMITS.system;
    const manager = new ContextManager({
      jobId: run.id,
      counter,
      profile,
      parameters: parametersFor(profile, WINDOW, { tail_budget: tailBudget }),
      redact: (text) => text,
      state: past.state,
      keep: (text, from) => past.store.put(text, from),
      tell: () => undefined,
      tools: [],
      system: isLong ? '' : run.system,
      ...(isLong && { instructions: run.system }),
      task: run.task,
    });
    let built: BuiltPrompt | undefined;
    return {
      prompt: () => {
        built = manager.build(0);
        return built.messages;
      },
      took: (exchange) => manager.append(exchange),
      built: () => {
        if (!built) throw new Error('nothing was built yet');
        return built;
      },
      settle: () => manager.settle(),
    };
  };

export const STRATEGIES: Readonly<Record<string, Make>> = {
  full,
  'mask-10': mask(10),
  'last-1': last(1),
  'last-3': last(3),
  'epoch-8k': epoch(8_000),
  'epoch-10k': epoch(10_000),
  'epoch-12k': epoch(12_000),
};
