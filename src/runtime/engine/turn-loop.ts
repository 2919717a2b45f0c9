import { ReefError, toReefError } from '../../protocol/errors.ts';
import { addCost, addUsage, type ChatReply, noUsage, type Usage } from '../models/client.ts';
import { type AssistantMessage, type Message, type ToolCallPart, textOf, toolCallsOf } from '../models/message.ts';
import { runToolCalls } from './tool-step.ts';
import type { TurnDeps, TurnResult } from './turn-deps.ts';

const MAX_STEPS = 100;

/** Asks the model and runs its tools until it answers without one. Never rejects: the result holds the error and the work done. */
export async function runTurn(deps: TurnDeps, start: readonly Message[]): Promise<TurnResult> {
  const turn = new Turn(deps, start);
  try {
    while (await turn.step());
  } catch (error) {
    return turn.result(toReefError(error));
  }
  return turn.result();
}

class Turn {
  readonly #deps: TurnDeps;
  readonly #messages: Message[];
  #usage: Usage = noUsage;
  #cost: number | null = 0;
  #steps = 0;
  #calls = 0;
  #text = '';

  constructor(deps: TurnDeps, start: readonly Message[]) {
    this.#deps = deps;
    this.#messages = [...start];
  }

  result(error?: ReefError): TurnResult {
    return {
      messages: this.#messages,
      text: this.#text,
      usage: this.#usage,
      cost: this.#cost,
      tool_call_count: this.#calls,
      steps: this.#steps,
      ...(error && { error }),
    };
  }

  /** True if the model goes on. */
  async step(): Promise<boolean> {
    const { signal, tracker, beforeStep, maxSteps = MAX_STEPS } = this.#deps;
    if (signal.aborted) throw new ReefError('cancelled', 'The turn was cancelled', { cause: signal.reason });
    if (this.#steps >= maxSteps) {
      throw new ReefError('turn_step_limit', `The model took ${maxSteps} steps without coming to an answer`);
    }
    await beforeStep?.(this.result());
    this.#steps += 1;
    tracker.nextStep();
    const reply = await this.#ask();
    const message: AssistantMessage = { role: 'assistant', content: reply.content };
    this.#messages.push(message);
    const calls = toolCallsOf(message);
    return calls.length > 0 && this.#runTools(calls, reply.finish === 'length');
  }

  /** What the model said before a cancel or a lost connection is kept and marked. */
  async #ask(): Promise<ChatReply> {
    const { emit } = this.#deps;
    let said = '';
    for (let attempt = 1; ; attempt++) {
      try {
        const reply = await this.#chat((text) => {
          said += text;
        });
        const text = textOf({ role: 'assistant', content: reply.content });
        this.#text = text;
        this.#usage = addUsage(this.#usage, reply.usage);
        this.#cost = addCost(this.#cost, reply.cost);
        emit({ type: 'assistant_message_end', text, usage: reply.usage, cost: reply.cost });
        return reply;
      } catch (cause) {
        const error = toReefError(cause);
        if (said === '' && (await this.#isWorthRepeating(error, attempt))) continue;
        if (said !== '') this.#keepPartial(said);
        throw error;
      }
    }
  }

  async #isWorthRepeating(error: ReefError, attempt: number): Promise<boolean> {
    const { onOutage, signal } = this.#deps;
    return error.retryable && !signal.aborted && (await onOutage?.(error, attempt)) === true;
  }

  #keepPartial(text: string): void {
    this.#text = text;
    this.#messages.push({ role: 'assistant', content: [{ type: 'text', text }], interrupted: true });
    this.#deps.emit({ type: 'assistant_message_end', text, usage: noUsage, cost: null, interrupted: true });
  }

  async #chat(onText: (text: string) => void): Promise<ChatReply> {
    const { client, model, settings, prompt, functions, agent, signal, emit } = this.#deps;
    const messages = await prompt.build(this.#messages);
    // As in Loki, a model that is not said to call functions is sent none.
    const canCall = model.data.supports_function_calling === true && functions.tools.length > 0;
    return client.chat(
      {
        model,
        messages,
        ...settings,
        signal,
        ...(canCall && { tools: functions.declarations() }),
        ...(agent !== undefined && { agent }),
      },
      ({ type, text }) => {
        if (type === 'text') onText(text);
        if (settings.stream) emit({ type: 'assistant_delta', kind: type, text });
      },
    );
  }

  async #runTools(calls: readonly ToolCallPart[], isCut: boolean): Promise<boolean> {
    this.#calls += calls.length;
    const { results, end } = await runToolCalls(this.#deps, calls, { isCut });
    this.#messages.push({ role: 'tool', content: results });
    if (end) throw end;
    const { isFinal } = this.#deps;
    return !calls.some((call, n) => isFinal?.(call, results[n]?.output ?? '') === true);
  }
}
