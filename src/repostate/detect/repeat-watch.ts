import { canonicalJson, fingerprint } from '../../base/fingerprint.ts';
import { ReefError } from '../../protocol/errors.ts';
import { artifactId } from '../prompt/caps.ts';
import { detected, type Tell } from './detection.ts';

const FAILURES = 3;
const READS = 3;

interface Read {
  hash: string;
  turn: number;
  requests: number;
}

/** Notices calls that bring nothing new: failing ones, reads, and commands with the same output. */
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

  /** Throws instead of a fourth try. */
  beforeCall(tool: string, args: unknown): void {
    const failing = this.#failing;
    if (!failing || failing.count < FAILURES || failing.call !== callKey(tool, args)) return;
    const evidence = { tool, failures: failing.count, error: failing.error };
    this.#tell(detected('failing_call', { action: 'refused', turn: this.#turn, evidence }));
    const message = `This ${tool} call failed ${failing.count} times in a row: ${failing.error}`;
    throw new ReefError('repeated_failure', message, { details: evidence });
  }

  /** `error` of a call that failed; a command that merely ended with another code than 0 did not. */
  afterCall(tool: string, args: unknown, error?: string): void {
    const call = callKey(tool, args);
    if (error === undefined) this.#failing = undefined;
    else if (this.#failing?.call === call && this.#failing.error === error) this.#failing.count++;
    else this.#failing = { call, error, count: 1 };
  }

  /** What to answer in the place of content the prompt still shows; the third request gets the content. */
  afterRead(
    read: { path: string; range: readonly [number, number]; hash: string },
    isInTail: (turn: number) => boolean,
  ): string | undefined {
    const key = canonicalJson([read.path, [...read.range]]);
    const known = this.#reads.get(key);
    if (!known || known.hash !== read.hash || !isInTail(known.turn)) {
      this.#reads.set(key, { hash: read.hash, turn: this.#turn, requests: 1 });
      return undefined;
    }
    known.requests++;
    if (known.requests >= READS) {
      this.#reads.set(key, { hash: read.hash, turn: this.#turn, requests: 1 });
      return undefined;
    }
    const evidence = { path: read.path, since: known.turn };
    this.#tell(detected('repeated_read', { action: 'shortened', turn: this.#turn, evidence }));
    return `unchanged since t${known.turn}, shown above`;
  }

  /** One line for output the agent has seen of the same command in the same state of the tree. */
  afterCommand(run: { command: string; exit: number | null; output: string; fingerprint: string }): string | undefined {
    const key = fingerprint([run.exit, run.output, run.fingerprint]);
    const before = this.#outputs.get(run.command);
    this.#outputs.set(run.command, { key, turn: before?.key === key ? before.turn : this.#turn });
    if (before?.key !== key) return undefined;
    const id = artifactId(run.output);
    const evidence = { command: run.command, since: before.turn, artifact: id };
    this.#tell(detected('same_output', { action: 'shortened', turn: this.#turn, evidence }));
    return `Same output as at t${before.turn}, exit ${run.exit ?? 'none'}: artifact_read "${id}"`;
  }
}

function callKey(tool: string, args: unknown): string {
  return fingerprint([tool, JSON.parse(JSON.stringify(args ?? null))]);
}
