import type { RunResult, RunSpec } from '../../base/programs.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { FAILURE, SUCCESS } from '../language/names.ts';
import type { GateFacts } from '../walk/outcomes.ts';
import { makeSegments, type WorkerContext, type WorkerInput, type WorkerOutput } from './worker.ts';

/**
 * Runs a gate's command to its end. `together`: stdout and stderr are one stream, in the order they were written. Rejects
 * only if the program cannot be started. `run` of src/process has this shape.
 */
export type RunGate = (spec: RunSpec & { output: 'together' | 'apart'; abort: AbortSignal }) => Promise<RunResult>;

export interface GateParts {
  runGate: RunGate;
  /** What a gate in this worktree is given of the environment. */
  envOf(worktreePath: string): Record<string, string>;
}

export interface Ended {
  stdout: string;
  /** All that was said. */
  log: string;
  facts: GateFacts;
}

/** How a gate reads what its command did: the segments of success and failure, and a veto on success. */
export interface GateReading {
  output: 'together' | 'apart';
  type: 'TEST_RESULT' | 'LINT_RESULT' | 'BUILD_RESULT';
  /** Said of success too. */
  tellsSuccess: boolean;
  content(ended: Ended): Json;
  /** Why it is no success although the command says so. */
  objection?(): Promise<string | undefined>;
}

/** The shell's words for "not executable" and "not found": a script that cannot start its program ends so. */
const NOT_STARTED = new Set([126, 127]);

export async function judge(
  { input, context, parts }: { input: WorkerInput; context: WorkerContext; parts: GateParts },
  reading: GateReading,
): Promise<WorkerOutput> {
  const { command } = context.gate;
  const pass = (
    signal: typeof SUCCESS | typeof FAILURE,
    made: Parameters<typeof makeSegments>[2],
    gate?: GateFacts,
  ) => ({
    signal,
    new_payload: [...input.execution_payload, ...makeSegments(input.system_metadata, context, made)],
    ...(gate && { gate }),
  });
  if (command === undefined) {
    const message = `No command is configured for ${reading.type.replace('_RESULT', '').toLowerCase()}.`;
    return pass(FAILURE, [{ type: 'ERROR', content: { code: 'gate_not_configured', message } }]);
  }
  const ended = await execute(command, { input, context, parts, output: reading.output });
  if ('cause' in ended) {
    const gate = { command, code: null, signal: null, timedOut: false };
    return pass(FAILURE, notStarted(reading.type, command, { cause: ended.cause, said: ended.cause }), gate);
  }
  const { facts, log } = ended;
  if (facts.code !== null && NOT_STARTED.has(facts.code)) {
    const cause = `${command[0]} ended with ${facts.code}: a program was not found or could not be started.`;
    return pass(FAILURE, notStarted(reading.type, command, { cause, said: reading.content(ended) }), facts);
  }
  const objection = facts.code === 0 ? await reading.objection?.() : undefined;
  if (facts.code === 0 && objection === undefined) {
    const told = { type: reading.type, outcome: 'PASS' as const, content: reading.content(ended) };
    return pass(SUCCESS, reading.tellsSuccess ? [told] : [], facts);
  }
  const said = objection === undefined ? ended : { ...ended, log: `${log}\nreef: ${objection}\n` };
  return pass(FAILURE, [{ type: reading.type, outcome: 'FAIL', content: reading.content(said) }], facts);
}

function notStarted(type: GateReading['type'], command: string[], { cause, said }: { cause: string; said: Json }) {
  const error = { code: 'gate_not_started', message: cause, command };
  return [
    { type, outcome: 'FAIL' as const, content: said },
    { type: 'ERROR', content: error },
  ];
}

async function execute(
  [file = '', ...args]: string[],
  {
    input,
    context,
    parts,
    output,
  }: { input: WorkerInput; context: WorkerContext; parts: GateParts; output: GateReading['output'] },
): Promise<Ended | { cause: string }> {
  const cwd = input.system_metadata.worktree_path;
  const { timeoutMs } = context.gate;
  const spec = { file, args, cwd, env: parts.envOf(cwd), timeoutMs, output, abort: context.abort };
  const result = await parts.runGate(spec).catch((error: unknown) => {
    // What passes by itself is tried again by the engine; the rest is a verdict.
    if (error instanceof ReefError && error.retryable && error.code !== 'spawn_failed') throw error;
    return { cause: error instanceof Error ? error.message : String(error) };
  });
  if ('cause' in result) return result;
  const { code, signal, timedOut } = result;
  const [stdout, stderr] = [result.stdout.toString('utf8'), result.stderr.toString('utf8')];
  const end = timedOut ? `\nreef: ended after ${timeoutMs / 1000} s, its limit\n` : '';
  const facts = { command: [file, ...args], code: timedOut ? null : code, signal, timedOut };
  return { stdout, log: stdout + stderr + end, facts };
}
