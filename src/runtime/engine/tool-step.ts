import { systemClock } from '../../base/clock.ts';
import { settledWithin, unlessAborted } from '../../base/wait.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { ToolCallPart, ToolResultPart } from '../models/message.ts';
import { loopAlert } from '../permissions/loop-guard.ts';
import { failureOutput, type ToolOutput, toOutput } from '../tools/output.ts';
import type { Functions, ToolContext } from '../tools/tool.ts';
import type { TurnDeps } from './turn-deps.ts';

interface StepResult {
  /** One for every call, in order, whatever happened: providers refuse a history with an open call. */
  results: ToolResultPart[];
  /** Set if the turn ends here. */
  end?: ReefError;
}

/** Runs the calls of one step: at the same time if all of them only read, otherwise in order. */
export async function runToolCalls(
  deps: TurnDeps,
  calls: readonly ToolCallPart[],
  { isCut }: { isCut: boolean },
): Promise<StepResult> {
  if (isCut) return { results: calls.map((call) => finished(deps, call, cutOutput())) };
  const step = new ToolStep(deps);
  const areReading = calls.every(({ name }) => deps.functions.find(name)?.effect === 'read');
  const results: ToolResultPart[] = [];
  if (areReading) results.push(...(await Promise.all(calls.map((call) => step.run(call)))));
  else for (const call of calls) results.push(await step.run(call));
  return step.end ? { results, end: step.end } : { results };
}

class ToolStep {
  readonly #deps: TurnDeps;
  end: ReefError | undefined;

  constructor(deps: TurnDeps) {
    this.#deps = deps;
  }

  async run(call: ToolCallPart): Promise<ToolResultPart> {
    if (this.end) return finished(this.#deps, call, stopped(this.end));
    this.#deps.emit({ type: 'tool_call', id: call.id, name: call.name, arguments: call.arguments });
    try {
      const output = await runTool(this.#deps, call);
      return finished(this.#deps, call, this.#guarded(call, output));
    } catch (error) {
      this.end ??= toReefError(error);
      return finished(this.#deps, call, stopped(this.end));
    }
  }

  #guarded(call: ToolCallPart, output: ToolOutput): ToolOutput {
    const { tracker } = this.#deps;
    switch (tracker.record({ name: call.name, arguments: call.arguments, output: output.text })) {
      case 'ok':
        return output;
      case 'alert':
        return { text: loopAlert(call.name), isError: true };
      case 'stop':
        this.end ??= new ReefError('tool_loop', `${call.name} was repeated after a warning`, {
          details: { tool: call.name },
        });
        return output;
    }
  }
}

function finished({ emit }: TurnDeps, { id, name }: ToolCallPart, { text, isError }: ToolOutput): ToolResultPart {
  emit({ type: 'tool_result', id, name, output: text, is_error: isError });
  return { type: 'tool_result', id, name, output: text, ...(isError && { isError: true as const }) };
}

function stopped(end: ReefError): ToolOutput {
  if (end.code === 'cancelled') return { text: JSON.stringify({ cancelled: true }), isError: true };
  return failureOutput(end);
}

function cutOutput(): ToolOutput {
  return failureOutput(
    new ReefError(
      'tool_failed',
      'Not run: the reply was cut by its output limit inside the call. Say less, or in pieces.',
    ),
  );
}

const HEARING_MS = 1_500;

/** A person has to act, or has cancelled: no result would help the model. */
function endsTurn(error: unknown): boolean {
  return error instanceof ReefError && (error.code === 'cancelled' || error.code === 'needs_human');
}

/** The model reads a failure as a result. Only an error that ends the turn is thrown. */
async function runTool(
  { functions, gate, outputs, cwd, signal, ask }: TurnDeps,
  call: ToolCallPart,
): Promise<ToolOutput> {
  const context: ToolContext = { cwd, signal, ask };
  try {
    const tool = functions.find(call.name);
    if (!tool) throw unknownTool(call.name, functions);
    const work = async () => {
      await gate.pass(tool, call.arguments, context);
      return tool.run(call.arguments, context);
    };
    return await outputs.cap(toOutput(await unlessDeaf(work(), signal)), call.name);
  } catch (error) {
    if (signal.aborted) throw new ReefError('cancelled', `${call.name} was cancelled`, { cause: error });
    if (endsTurn(error)) throw error;
    return outputs.cap(failureOutput(error), call.name);
  }
}

/** A cancelled tool has a moment to clean up. One that ignores the signal is left behind. */
async function unlessDeaf<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(work, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const late = await settledWithin(
      systemClock,
      HEARING_MS,
      work.then((value) => ({ value })),
    );
    if (late) return late.value;
    throw error;
  }
}

function unknownTool(name: string, functions: Functions): ReefError {
  const known = functions.tools.map((tool) => tool.name).join(', ') || 'none';
  return new ReefError('tool_unknown', `There is no tool ${JSON.stringify(name)}; there are: ${known}`);
}
