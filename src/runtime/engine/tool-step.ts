import { systemClock } from '../../base/clock.ts';
import { settledWithin, unlessAborted } from '../../base/wait.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { ToolCallPart, ToolResultPart } from '../models/message.ts';
import type { PermissionGate } from '../permissions/gate.ts';
import { loopAlert } from '../permissions/loop-guard.ts';
import { failureOutput, type OutputCap, type ToolOutput, toOutput } from '../tools/output.ts';
import type { Functions, ToolContext } from '../tools/tool.ts';
import type { TurnDeps } from './turn-deps.ts';

interface StepResult {
  /** One for every call, in their order, whatever happened: a history with an open call is refused by providers. */
  results: ToolResultPart[];
  /** Why the turn ends here. */
  end?: ReefError;
}

/** The calls of one step: side by side where all only read, else one after the other. */
export async function runToolCalls(
  parts: TurnDeps,
  calls: readonly ToolCallPart[],
  { isCut }: { isCut: boolean },
): Promise<StepResult> {
  if (isCut) return { results: calls.map((call) => finished(parts, call, cutOutput())) };
  const step = new ToolStep(parts);
  const areReading = calls.every(({ name }) => parts.functions.find(name)?.effect === 'read');
  const results = areReading
    ? await Promise.all(calls.map((call) => step.run(call)))
    : await inTurn(calls, (call) => step.run(call));
  const end = step.end;
  return end ? { results, end } : { results };
}

async function inTurn<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await act(item));
  return results;
}

class ToolStep {
  readonly #parts: TurnDeps;
  end: ReefError | undefined;

  constructor(parts: TurnDeps) {
    this.#parts = parts;
  }

  async run(call: ToolCallPart): Promise<ToolResultPart> {
    const { functions, gate, outputs, cwd, jobId, signal, ask, emit } = this.#parts;
    if (this.end) return finished(this.#parts, call, stopped(this.end));
    emit({ type: 'tool_call', id: call.id, name: call.name, arguments: call.arguments });
    try {
      const context = { cwd, signal, ask, ...(jobId !== undefined && { jobId }) };
      const output = await runTool({ functions, gate, outputs }, call, context);
      return finished(this.#parts, call, this.#guarded(call, output));
    } catch (error) {
      this.end ??= toReefError(error);
      return finished(this.#parts, call, stopped(this.end));
    }
  }

  #guarded(call: ToolCallPart, output: ToolOutput): ToolOutput {
    const { tracker } = this.#parts;
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

/** Half a call is not run. */
function cutOutput(): ToolOutput {
  return failureOutput(
    new ReefError(
      'tool_failed',
      'Not run: the reply was cut by its output limit inside the call. Say less, or in pieces.',
    ),
  );
}

const HEARING_MS = 1_500;

interface ToolRunDeps {
  functions: Functions;
  gate: PermissionGate;
  outputs: OutputCap;
}

/** Ends the turn: no result would help the model, and a person has to act or has acted. */
function endsTurn(error: unknown): boolean {
  return error instanceof ReefError && (error.code === 'cancelled' || error.code === 'needs_human');
}

/** One call: known, allowed, run, shaped and capped. Failures are results, for the model to read; only an end is thrown. */
async function runTool(
  parts: ToolRunDeps,
  call: { name: string; arguments: unknown },
  context: ToolContext,
): Promise<ToolOutput> {
  try {
    const tool = parts.functions.find(call.name);
    if (!tool) throw unknownTool(call.name, parts.functions);
    const work = async () => {
      await parts.gate.pass(tool, call.arguments, context);
      return tool.run(call.arguments, context);
    };
    return await parts.outputs.cap(toOutput(await unlessDeaf(work(), context.signal)), call.name);
  } catch (error) {
    if (context.signal.aborted) throw new ReefError('cancelled', `${call.name} was cancelled`, { cause: error });
    if (endsTurn(error)) throw error;
    return parts.outputs.cap(failureOutput(error), call.name);
  }
}

/** A cancelled tool may clean up after itself; one that does not hear the signal is left behind. */
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
