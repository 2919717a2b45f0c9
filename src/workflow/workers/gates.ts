import { createHash } from 'node:crypto';
import type { RunResult, RunSpec } from '../../base/programs.ts';
import type { SafeDir } from '../../base/safe-dir.ts';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { FAILURE, type Signal, SUCCESS } from '../language/names.ts';
import type { GateFacts } from '../walk/outcomes.ts';
import {
  type GateSettings,
  makeSegments,
  type Worker,
  type WorkerContext,
  type WorkerInput,
  type WorkerOutput,
} from './worker.ts';

/** `together`: stdout and stderr are one stream, in the order written. Rejects only if the program cannot be started. */
export type RunGate = (spec: RunSpec & { output: 'together' | 'apart'; abort: AbortSignal }) => Promise<RunResult>;

export interface GateParts {
  runGate: RunGate;
  /** The environment of a gate in this worktree. */
  gateEnv(worktreePath: string): Record<string, string>;
}

export interface GateSurroundings extends GateParts {
  /** What the set-up of a worktree runs and copies. */
  setup(): Promise<Json>;
}

interface Ended {
  stdout: string;
  log: string;
  facts: GateFacts;
}

/** How a gate turns the result of its command into segments. */
interface GateReading {
  output: 'together' | 'apart';
  type: 'TEST_RESULT' | 'LINT_RESULT' | 'BUILD_RESULT';
  tellsSuccess: boolean;
  content(ended: Ended): Json;
  /** Why it is no success although the command succeeded. */
  objection?(): Promise<string | undefined>;
}

/** How a shell ends when a program cannot be executed or found. */
const NOT_STARTED = new Set([126, 127]);

interface GateCall {
  input: WorkerInput;
  context: WorkerContext;
  parts: GateParts;
}

async function judge(call: GateCall, reading: GateReading): Promise<WorkerOutput> {
  const { input, context } = call;
  const { command, reused } = context.gate;
  const pass = (signal: Signal, made: Parameters<typeof makeSegments>[2], gate?: GateFacts) => ({
    signal,
    new_payload: [...input.execution_payload, ...makeSegments(input.system_metadata, context, made)],
    ...(gate && { gate }),
  });
  if (command === undefined) {
    const message = `No command is configured for ${reading.type.replace('_RESULT', '').toLowerCase()}.`;
    return pass(FAILURE, [{ type: 'ERROR', content: { code: 'gate_not_configured', message } }]);
  }
  if (reused) {
    const told = {
      type: reading.type,
      outcome: 'PASS' as const,
      content: 'reef: it passed on the same files before\n',
    };
    return pass(SUCCESS, reading.tellsSuccess ? [told] : [], { command, code: 0, signal: null, timedOut: false });
  }
  const ended = await execute(command, call, reading.output);
  if ('cause' in ended) {
    const gate = { command, code: null, signal: null, timedOut: false };
    return pass(FAILURE, notStarted(reading.type, command, { cause: ended.cause, said: ended.cause }), gate);
  }
  const { facts, log } = ended;
  if (facts.code !== null && NOT_STARTED.has(facts.code)) {
    const cause = `${command[0]} ended with ${facts.code}: a program was not found or could not be started. Gates run in a checkout of their own, so what they need must come from \`worktree.setup\`; \`reef init\` proposes one.`;
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

/** The verdict on files that cannot even be set up. Whoever changed them gets the log. */
export function notSetUp(input: WorkerInput, context: WorkerContext, log: string): WorkerOutput {
  const { command = [] } = context.gate;
  const content = `reef: the set-up failed on these files, so ${command.join(' ')} could not run\n${log}\n`;
  const failed = makeSegments(input.system_metadata, context, [{ type: 'TEST_RESULT', outcome: 'FAIL', content }]);
  const gate = { command, code: null, signal: null, timedOut: false };
  return { signal: FAILURE, new_payload: [...input.execution_payload, ...failed], gate };
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
  { input, context, parts }: GateCall,
  output: GateReading['output'],
): Promise<Ended | { cause: string }> {
  const { worktree_path: worktree } = input.system_metadata;
  const { timeoutMs, folder: cwd = worktree } = context.gate;
  const spec = { file, args, cwd, env: parts.gateEnv(cwd), timeoutMs, output, abort: context.abort };
  const result = await parts.runGate(spec).catch((error: unknown) => {
    // The engine retries a passing fault; any other is a verdict.
    if (error instanceof ReefError && error.retryable && error.code !== 'spawn_failed') throw error;
    return { cause: error instanceof Error ? error.message : String(error) };
  });
  if ('cause' in result) return result;
  const { code, signal, timedOut } = result;
  const textOf = (bytes: Buffer) => bytes.toString('utf8').replaceAll(cwd, worktree);
  const [stdout, stderr] = [textOf(result.stdout), textOf(result.stderr)];
  const end = timedOut ? `\nreef: ended after ${timeoutMs / 1000} s, its limit\n` : '';
  const facts = { command: [file, ...args], code: timedOut ? null : code, signal, timedOut };
  return { stdout, log: stdout + stderr + end, facts };
}

type TestParts = GateParts & { openDir(root: string): SafeDir };

/** `Internal:TestRunner` runs the project's tests; their exit code decides. */
export function testRunner(parts: TestParts): Worker {
  return testsAs(parts, { tellsSuccess: true, content: ({ log }) => log });
}

/** A gate without a worker of its own is judged as tests are, and what it said begins with its name. */
export function namedGate(name: string, parts: TestParts): Worker {
  return testsAs(parts, { tellsSuccess: false, content: ({ log }) => `reef: gate ${name}\n${log}` });
}

function testsAs(parts: TestParts, reading: Pick<GateReading, 'tellsSuccess' | 'content'>): Worker {
  return async (input, context) => {
    const { report, reused, folder = input.system_metadata.worktree_path } = context.gate;
    const dir = parts.openDir(folder);
    // An old or invented report must not count for this run.
    if (report !== undefined && !reused) await dir.remove(report).catch(() => undefined);
    const objection = () => tooFew(dir, context.gate);
    return judge({ input, context, parts }, { output: 'together', type: 'TEST_RESULT', ...reading, objection });
  };
}

/** A run with too few tests does not pass. */
async function tooFew(dir: SafeDir, { report, minTests }: GateSettings): Promise<string | undefined> {
  if (report === undefined || minTests === undefined) return undefined;
  const text = await dir.read(report).then(
    (bytes) => bytes.toString('utf8'),
    () => undefined,
  );
  if (text === undefined) return `the report ${report} was not written, so no test is proved to have run`;
  const count = countTests(text);
  if (count === undefined) return `the report ${report} is neither JUnit nor JSON of a known kind`;
  return count < minTests ? `${count} tests ran, at least ${minTests} must` : undefined;
}

/** What a verdict depends on besides the files. */
export async function gateKey(
  { command, report, minTests }: GateSettings,
  { gateEnv, setup }: GateSurroundings,
): Promise<string> {
  const depends = [command, report ?? null, minTests ?? null, Object.entries(gateEnv('')).sort(), await setup()];
  return createHash('sha256').update(JSON.stringify(depends)).digest('hex');
}

/** `Internal:RunLinter` gives its findings as data, so that a block can fix them. */
export function runLinter(parts: GateParts): Worker {
  return (input, context) =>
    judge({ input, context, parts }, { output: 'apart', type: 'LINT_RESULT', tellsSuccess: false, content: findings });
}

function findings({ stdout, log }: Ended): Json {
  const parsed = parseJson(stdout);
  return parsed.ok ? (parsed.value as Json) : { raw: log, parseError: parsed.why };
}

/** `Internal:RunBuilder` runs the project's build and keeps the whole log when it fails. */
export function runBuilder(parts: GateParts): Worker {
  return (input, context) =>
    judge(
      { input, context, parts },
      { output: 'together', type: 'BUILD_RESULT', tellsSuccess: false, content: ({ log }) => log },
    );
}

/** Counts the tests that ran, without skipped ones; undefined for an unknown kind of report. */
export function countTests(report: string): number | undefined {
  const text = report.trimStart();
  return text.startsWith('<') ? countJunit(text) : countJson(text);
}

/** Counts tags outside comments and CDATA, since a test may print `<testcase`. */
function countJunit(text: string): number | undefined {
  let cases = 0;
  let skipped = 0;
  let isJunit = false;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    const end = endOf(text, at);
    const name = /^<([A-Za-z]+)/.exec(text.slice(at, at + 16))?.[1];
    if (name === 'testsuite' || name === 'testsuites') isJunit = true;
    if (name === 'testcase') cases += 1;
    if (name === 'skipped') skipped += 1;
    at = end;
  }
  return isJunit ? Math.max(0, cases - skipped) : undefined;
}

function endOf(text: string, at: number): number {
  const [open, close] = text.startsWith('<!--', at)
    ? [4, '-->']
    : text.startsWith('<![CDATA[', at)
      ? [9, ']]>']
      : [1, '>'];
  const end = text.indexOf(close, at + open);
  return end < 0 ? text.length : end + close.length;
}

interface JsonReport {
  numTotalTests?: unknown;
  numPendingTests?: unknown;
  numTodoTests?: unknown;
  stats?: { tests?: unknown; pending?: unknown; skipped?: unknown };
}

/** Jest and vitest count `numTotalTests`, mocha `stats.tests`. */
function countJson(text: string): number | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const { numTotalTests, numPendingTests, numTodoTests, stats } = parsed.value as JsonReport;
  if (typeof numTotalTests === 'number') return numTotalTests - number(numPendingTests) - number(numTodoTests);
  return typeof stats?.tests === 'number' ? stats.tests - number(stats.pending ?? stats.skipped) : undefined;
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
