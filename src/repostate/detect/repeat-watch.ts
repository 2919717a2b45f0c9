import { canonicalJson, fingerprint } from '../../base/fingerprint.ts';
import { ReefError } from '../../protocol/errors.ts';
import { artifactId } from '../prompt/caps.ts';
import type { Tell } from './progress-watch.ts';

const FAILURES = 3;
const READS = 3;

interface Read {
  hash: string;
  turn: number;
  requests: number;
}

/** Detects calls that bring nothing new: the same failure, the same read, a command with the same output. */
export class RepeatWatch {
  readonly #tell: Tell;
  #failing: { call: string; error: string; count: number } | undefined;
  readonly #reads = new Map<string, Read>();
  readonly #outputs = new Map<string, { key: string; turn: number }>();
  #turn = 0;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  beginTurn(turn: number): void {
    this.#turn = turn;
  }

  /** Throws instead of allowing a fourth try. */
  beforeCall(tool: string, args: unknown): void {
    const failing = this.#failing;
    if (!failing || failing.count < FAILURES || failing.call !== callKey(tool, args)) return;
    const evidence = { tool, failures: failing.count, error: failing.error };
    this.#detected('failing_call', 'refused', evidence);
    const message = `This ${tool} call failed ${failing.count} times in a row: ${failing.error}`;
    throw new ReefError('repeated_failure', message, { details: evidence });
  }

  /** `error` is set when the call failed. A command that exits with a code other than 0 has not failed. */
  afterCall(tool: string, args: unknown, error?: string): void {
    const call = callKey(tool, args);
    if (error === undefined) this.#failing = undefined;
    else if (this.#failing?.call === call && this.#failing.error === error) this.#failing.count++;
    else this.#failing = { call, error, count: 1 };
  }

  /** The answer in place of content that the prompt still shows. The third request gets the content. */
  afterRead(
    read: { path: string; range: readonly [number, number]; hash: string },
    isInTail: (turn: number) => boolean,
  ): string | undefined {
    const key = canonicalJson([read.path, [...read.range]]);
    const known = this.#reads.get(key);
    const isShown = known !== undefined && known.hash === read.hash && isInTail(known.turn);
    if (!isShown || known.requests + 1 >= READS) {
      this.#reads.set(key, { hash: read.hash, turn: this.#turn, requests: 1 });
      return undefined;
    }
    known.requests++;
    const evidence = { path: read.path, since: known.turn };
    this.#detected('repeated_read', 'shortened', evidence);
    return `unchanged since t${known.turn}, shown above`;
  }

  /** One line in place of output that the agent has already seen, for the same command and the same tree. */
  afterCommand(run: { command: string; exit: number | null; output: string; fingerprint: string }): string | undefined {
    const key = fingerprint([run.exit, run.output, run.fingerprint]);
    const before = this.#outputs.get(run.command);
    this.#outputs.set(run.command, { key, turn: before?.key === key ? before.turn : this.#turn });
    if (before?.key !== key) return undefined;
    const id = artifactId(run.output);
    const evidence = { command: run.command, since: before.turn, artifact: id };
    this.#detected('same_output', 'shortened', evidence);
    return `Same output as at t${before.turn}, exit ${run.exit ?? 'none'}: artifact_read "${id}"`;
  }

  #detected(
    detector: 'failing_call' | 'repeated_read' | 'same_output',
    action: 'refused' | 'shortened',
    evidence: Record<string, unknown>,
  ): void {
    this.#tell({ kind: 'repostate.detected', detector, action, turn: this.#turn, evidence });
  }
}

function callKey(tool: string, args: unknown): string {
  return fingerprint([tool, JSON.parse(JSON.stringify(args ?? null))]);
}
