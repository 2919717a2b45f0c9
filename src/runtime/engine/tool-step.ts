import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { ToolCallPart, ToolResultPart } from '../models/message.ts';
import { loopAlert } from '../permissions/loop-guard.ts';
import { failureOutput, type ToolOutput } from '../tools/output.ts';
import { runTool } from '../tools/run-tool.ts';
import type { TurnParts } from './turn-parts.ts';

interface StepResult {
  /** One for every call, in their order, whatever happened: a history with an open call is refused by providers. */
  results: ToolResultPart[];
  /** Why the turn ends here. */
  end?: ReefError;
}

/** The calls of one step: side by side where all only read, else one after the other. */
export async function runToolCalls(
  parts: TurnParts,
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
  readonly #parts: TurnParts;
  end: ReefError | undefined;

  constructor(parts: TurnParts) {
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

function finished({ emit }: TurnParts, { id, name }: ToolCallPart, { text, isError }: ToolOutput): ToolResultPart {
  emit({ type: 'tool_result', id, name, output: text, is_error: isError });
  return { type: 'tool_result', id, name, output: text, ...(isError && { isError: true as const }) };
}

function stopped(end: ReefError): ToolOutput {
  if (end.code === 'cancelled') return { text: JSON.stringify({ cancelled: true }), isError: true };
  return failureOutput(end);
}

/** S-57: half a call is no call. */
function cutOutput(): ToolOutput {
  return failureOutput(
    new ReefError(
      'tool_failed',
      'Not run: the reply was cut by its output limit inside the call. Say less, or in pieces.',
    ),
  );
}
