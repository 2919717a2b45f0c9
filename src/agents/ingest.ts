import { type Line, LineReader } from '../base/line-reader.ts';
import { parseJson } from '../base/safe-json.ts';
import { toReefError } from '../protocol/errors.ts';
import type { Adapter, AgentLine, Effect, Json } from './adapter.ts';
import { applyEffects, flushText, noteBadLine, noteStderr, type Source } from './effects.ts';
import type { JobTransaction } from './job-transaction.ts';

/** What is read between two looks at everything else. How much of it is understood at once is a matter of time. */
const BATCH_LINES = 600;
const BATCH_BYTES = 256 * 1024;
const STDERR_LINES = 50;
const STDERR_TAIL = 4096;

export interface Batch {
  out: Line[];
  err: Line[];
  /** Where reading goes on once this batch is stored. */
  read: { out: number; err: number };
  /** More is there already. */
  isFull: boolean;
}

/** Follows the two raw files of a launch. It only reads, so that after a failed commit the lines are read again. */
export class RawOutput {
  readonly #paths: { out: string; err: string };
  #readers: { out: LineReader; err: LineReader };
  #left: Batch | undefined;

  constructor(paths: { out: string; err: string }, read: { out: number; err: number }) {
    this.#paths = paths;
    this.#readers = openReaders(paths, read);
  }

  async next(): Promise<Batch> {
    const left = this.#left;
    this.#left = undefined;
    if (left) return left;
    const out = await this.#readers.out.readBatch(BATCH_LINES, BATCH_BYTES);
    const err = await this.#readers.err.readBatch(STDERR_LINES, BATCH_BYTES);
    const isFull = out.length === BATCH_LINES || err.length === STDERR_LINES;
    return { out, err, read: this.#offsets(), isFull };
  }

  /** What there was no time for comes first the next time. */
  giveBack(left: Batch | undefined): void {
    this.#left = left;
  }

  /** What stands behind the last newline, once the writers are gone. */
  rest(): Batch {
    const out = this.#readers.out.finish();
    const err = this.#readers.err.finish();
    return { out: out ? [out] : [], err: err ? [err] : [], read: this.#offsets(), isFull: false };
  }

  /** After a commit that failed: what was read since is read again. */
  async rewind(read: { out: number; err: number }): Promise<void> {
    this.#left = undefined;
    await this.close();
    this.#readers = openReaders(this.#paths, read);
  }

  async close(): Promise<void> {
    await Promise.all([this.#readers.out.close(), this.#readers.err.close()]);
  }

  #offsets() {
    return { out: this.#readers.out.offset, err: this.#readers.err.offset };
  }
}

function openReaders(paths: { out: string; err: string }, read: { out: number; err: number }) {
  return {
    out: new LineReader({ path: paths.out, offset: read.out }),
    err: new LineReader({ path: paths.err, offset: read.err }),
  };
}

/**
 * Lines become effects, effects become events, and the offset is part of the same transaction. Once the time is up, what has
 * not been understood is left for the next one; a first line always is.
 */
export function ingest(tx: JobTransaction, adapter: Adapter, batch: Batch, isTimeUp = () => false): Batch | undefined {
  let done = 0;
  for (const [stream, lines] of [['out', batch.out] as const, ['err', batch.err] as const]) {
    for (const line of lines) {
      if (done > 0 && isTimeUp()) return leave(tx, batch, done);
      ingestLine(tx, adapter, { stream, ...line });
      done += 1;
    }
  }
  tx.runtime.read = batch.read;
  return undefined;
}

function leave(tx: JobTransaction, batch: Batch, done: number): Batch {
  const [out, err] = [batch.out.slice(done), batch.err.slice(Math.max(0, done - batch.out.length))];
  tx.runtime.read = { out: out[0]?.offset ?? batch.read.out, err: err[0]?.offset ?? batch.read.err };
  return { ...batch, out, err };
}

function ingestLine(tx: JobTransaction, adapter: Adapter, source: Source & Line): void {
  const read = source.stream === 'out' ? readProtocolLine(source) : { stream: source.stream, text: source.text };
  if ('why' in read) {
    if (refuseRequest(tx, adapter, source)) return;
    flushText(tx);
    const message = `not a line of the protocol: ${read.why}`;
    noteBadLine(tx, { code: 'bad_line', message, fatal: false, scope: 'line', retryable: false }, source);
    return;
  }
  const effects = translate(tx, adapter, read);
  if (source.stream === 'out') tx.runtime.wasHeard = true;
  else
    tx.runtime.stderrTail = `${tx.runtime.stderrTail}${tx.storage.log.excerpt(source.text, -STDERR_TAIL)}\n`.slice(
      -STDERR_TAIL,
    );
  if (source.stream === 'err' && effects.length === 0) noteStderr(tx, source.text);
  applyEffects(tx, effects, source);
}

/** An agent waits for an answer to what it asked, and nobody could be shown it. False: the line asks nothing. */
function refuseRequest(tx: JobTransaction, adapter: Adapter, source: Source & Line): boolean {
  const parsed = source.outline === undefined ? undefined : parseJson(source.outline);
  if (!parsed?.ok) return false;
  const before = tx.runtime.adapter;
  const effects = translate(tx, adapter, { stream: 'out', json: parsed.value as Json, skeleton: true });
  if (effects.some((effect) => effect.do === 'ask')) {
    applyEffects(tx, effects, { ...source, skeleton: true, isTooLarge: true });
    return true;
  }
  tx.runtime.adapter = before;
  return false;
}

function readProtocolLine(line: Line): AgentLine | { why: string } {
  if (line.truncated) return { why: 'longer than 16 MiB, or longer than 512 KiB without its long strings and lists' };
  const parsed = parseJson(line.text);
  return parsed.ok
    ? { stream: 'out', json: parsed.value as Json, skeleton: line.skeleton === true }
    : { why: parsed.why.replace(QUOTED, '') };
}

/** V8 quotes a few characters around the fault, which may be half a secret. */
const QUOTED = /, (?:\.\.\.)?".*$/s;

/** A defect in an adapter fails its own job and no other. */
function translate(tx: JobTransaction, adapter: Adapter, line: AgentLine): Effect[] {
  try {
    const { state, effects } = adapter.parse(tx.runtime.adapter, line);
    tx.runtime.adapter = state;
    return effects;
  } catch (error) {
    const message = `the adapter of ${tx.job.agent} failed: ${toReefError(error).message}`;
    tx.runtime.ending ??= { why: 'failure', fails: { code: 'adapter_failed', message } };
    return [];
  }
}
