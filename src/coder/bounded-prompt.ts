import type { ContextManager } from '../repostate/prompt/context-manager.ts';
import type { Ledger } from '../repostate/prompt/ledger.ts';
import type { AssistantMessage, Message, ToolMessage } from '../runtime/models/message.ts';
import type { CoderParts } from './coder-parts.ts';
import { toExchange, toModelMessages } from './convert.ts';

/** What the engine shows the model: never the history of the turn, but the projection that the context manager keeps. */
export class BoundedPrompt {
  readonly #parts: Pick<CoderParts, 'clock' | 'counter'>;
  readonly #context: ContextManager;
  #taken = 0;
  readonly #turn: () => number;
  /** The turn whose reply comes next. */
  #asked = 0;
  lastLedger: Ledger | undefined;

  constructor(parts: Pick<CoderParts, 'clock' | 'counter'>, context: ContextManager, turn: () => number) {
    this.#parts = parts;
    this.#context = context;
    this.#turn = turn;
  }

  /** A new turn of the engine begins with an empty history. */
  begin(): void {
    this.#taken = 0;
  }

  build(messages: readonly Message[]): Message[] {
    this.take(messages);
    this.#asked = this.#turn();
    const prompt = this.#context.build(this.#parts.clock.now().getTime());
    this.lastLedger = prompt.ledger;
    return toModelMessages(prompt.messages);
  }

  /** Appends the exchanges that are new; also called at the end, when no prompt follows. */
  take(messages: readonly Message[]): void {
    for (; this.#taken < messages.length; this.#taken++) {
      const reply = messages[this.#taken];
      if (reply?.role !== 'assistant') continue;
      const after = messages[this.#taken + 1];
      const results = after?.role === 'tool' ? after : undefined;
      this.#append(reply, results);
    }
  }

  #append(reply: AssistantMessage, results: ToolMessage | undefined): void {
    this.#context.append(toExchange(this.#asked, { reply, results }, this.#parts.counter));
  }
}
