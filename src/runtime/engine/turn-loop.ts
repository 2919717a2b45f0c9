import { ReefError, toReefError } from '../../protocol/errors.ts';
import { addCost, addUsage, type ChatReply, noUsage, type Usage } from '../models/client.ts';
import { type AssistantMessage, type Message, type ToolCallPart, textOf, toolCallsOf } from '../models/message.ts';
import { runToolCalls } from './tool-step.ts';
import type { StepProgress, TurnDeps, TurnResult } from './turn-deps.ts';

const MAX_STEPS = 100;

/**
 * Model, tools, model, until the model answers without a tool. A loop and not a recursion: its length is bounded by
 * nothing but its limit. Never rejects: an end that is no answer is in the result, with all that was done.
 */
export async function runTurn(parts: TurnDeps, start: readonly Message[]): Promise<TurnResult> {
  const turn = new Turn(parts, start);
  try {
    while (await turn.step());
  } catch (error) {
    return turn.result(toReefError(error));
  }
  return turn.result();
}

class Turn {
  readonly #parts: TurnDeps;
  readonly #messages: Message[];
  #usage: Usage = noUsage;
  #cost: number | null = 0;
  #steps = 0;
  #calls = 0;
  #text = '';

  constructor(parts: TurnDeps, start: readonly Message[]) {
    this.#parts = parts;
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

  /** True while the model goes on. */
  async step(): Promise<boolean> {
    const { signal, tracker, beforeStep, maxSteps = MAX_STEPS } = this.#parts;
    if (signal.aborted) throw new ReefError('cancelled', 'The turn was cancelled', { cause: signal.reason });
    if (this.#steps >= maxSteps) {
      throw new ReefError('turn_step_limit', `The model took ${maxSteps} steps without coming to an answer`);
    }
    await beforeStep?.(this.#progress());
    this.#steps += 1;
    tracker.nextStep();
    const reply = await this.#ask();
    const message: AssistantMessage = { role: 'assistant', content: reply.content };
    this.#messages.push(message);
    const calls = toolCallsOf(message);
    return calls.length > 0 && this.#runTools(calls, reply.finish === 'length');
  }

  #progress(): StepProgress {
    const { messages, usage, cost, tool_call_count } = this.result();
    return { messages, step: this.#steps, usage, cost, tool_call_count };
  }

  /** Asks the model; what it said before a cancel or a lost connection is kept and marked. */
  async #ask(): Promise<ChatReply> {
    const { emit } = this.#parts;
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
    const { onOutage, signal } = this.#parts;
    return error.retryable && !signal.aborted && (await onOutage?.(error, attempt)) === true;
  }

  #keepPartial(text: string): void {
    this.#text = text;
    this.#messages.push({ role: 'assistant', content: [{ type: 'text', text }], interrupted: true });
    this.#parts.emit({ type: 'assistant_message_end', text, usage: noUsage, cost: null, interrupted: true });
  }

  async #chat(onText: (text: string) => void): Promise<ChatReply> {
    const { client, model, settings, prompt, functions, agent, signal, emit } = this.#parts;
    const messages = await prompt.build(this.#messages);
    const canCall = model.data.supports_function_calling !== false && functions.tools.length > 0;
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
    const { results, end } = await runToolCalls(this.#parts, calls, { isCut });
    this.#messages.push({ role: 'tool', content: results });
    if (end) throw end;
    const { isFinal } = this.#parts;
    return !calls.some((call, n) => isFinal?.(call, results[n]?.output ?? '') === true);
  }
}
