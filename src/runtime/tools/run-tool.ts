import { setTimeout as sleep } from 'node:timers/promises';
import { ReefError } from '../../protocol/errors.ts';
import type { PermissionGate } from '../permissions/gate.ts';
import { failureOutput, type OutputCap, type ToolOutput, toOutput } from './output.ts';
import type { Functions, ToolContext } from './tool.ts';

const HEARING_MS = 1_500;

export interface ToolRunParts {
  functions: Functions;
  gate: PermissionGate;
  outputs: OutputCap;
}

/** Ends the turn: no result would help the model, and a person has to act or has acted. */
function endsTurn(error: unknown): boolean {
  return error instanceof ReefError && (error.code === 'cancelled' || error.code === 'needs_human');
}

/** One call: known, allowed, run, shaped and capped. Failures are results, for the model to read; only an end is thrown. */
export async function runTool(
  parts: ToolRunParts,
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
  const done = new AbortController();
  const leave = new Promise<never>((_, reject) => {
    const wait = () =>
      sleep(HEARING_MS, undefined, { signal: done.signal }).then(
        () => reject(signal.reason),
        () => undefined,
      );
    if (signal.aborted) void wait();
    else signal.addEventListener('abort', wait, { once: true, signal: done.signal });
  });
  try {
    return await Promise.race([work, leave]);
  } finally {
    done.abort();
  }
}

function unknownTool(name: string, functions: Functions): ReefError {
  const known = functions.tools.map((tool) => tool.name).join(', ') || 'none';
  return new ReefError('tool_unknown', `There is no tool ${JSON.stringify(name)}; there are: ${known}`);
}
