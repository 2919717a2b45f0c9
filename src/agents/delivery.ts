import { join } from 'node:path';
import { readRequestAt } from '../base/line-reader.ts';
import { FifoWriter } from '../process/fifo.ts';
import type { Adapter, Encoded, Json, Outgoing } from './adapter.ts';
import type { JobTransaction } from './job-transaction.ts';
import { acknowledgeMessage, type Outbound, type OutboxDoc } from './outbox.ts';

/** What the kernel takes whole or not at all, whatever else is in the pipe. */
const ATOMIC_WRITE = 4096;

type Commit = <T>(change: (tx: JobTransaction) => T) => T;

interface DeliveryDeps {
  adapter: Adapter;
  jobDir: string;
  fifo: string;
  waiting: () => Outbound[];
  commit: Commit;
}

/**
 * Writes what waits in the outbox to the agent's FIFO. A row is recorded before it is written, marked after, and done when
 * the agent itself names it. Nothing here waits for a reader.
 */
export class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #commit: Commit;
  readonly #fifo: FifoWriter;
  /** The key of the row whose last bytes the pipe has not taken yet. */
  #held: string | undefined;

  constructor(deps: DeliveryDeps) {
    this.#deps = deps;
    this.#commit = deps.commit;
    this.#fifo = new FifoWriter(deps.fifo);
  }

  /**
   * After a restart, once the raw output is read to its end: what was written and not acknowledged goes out again. A long
   * write that may have been torn cannot be repaired: then the agent has to be ended.
   */
  recover(): 'ok' | 'torn' {
    return this.#commit((tx) => {
      const rows = tx.storage.store.outbox.open<OutboxDoc>(tx.job.id);
      const isTorn = rows.some((row) => row.state === 'writing' && (row.doc.size ?? 0) > ATOMIC_WRITE);
      const isRepeat = !isTorn && !this.#deps.adapter.describe().ignoresRepeats;
      for (const row of rows) {
        if (isTorn || isRepeatable(row)) tx.storage.store.outbox.move(row.key, 'new', { ...row.doc, isRepeat });
      }
      return isTorn ? 'torn' : 'ok';
    });
  }

  async deliver(): Promise<void> {
    if (!this.#fifo.flush()) return;
    if (this.#held !== undefined) this.#markWritten(this.#held);
    this.#held = undefined;
    let isMessageWaiting = false;
    for (const row of this.#deps.waiting()) {
      if (row.state !== 'new' || (isMessageWaiting && row.doc.kind === 'message')) continue;
      const sent = await this.#send(row);
      if (sent === 'later') isMessageWaiting ||= row.doc.kind === 'message';
      if (sent === 'full') return;
    }
  }

  close(): void {
    this.#fifo.close();
  }

  async #send(row: Outbound): Promise<'sent' | 'later' | 'full'> {
    const outgoing = await this.#toOutgoing(row.doc);
    const prepared = this.#commit((tx) => prepare(tx, row, this.#deps.adapter, outgoing));
    if (!prepared) return 'later';
    if (prepared === 'refused') return 'sent';
    const written = this.#fifo.write(prepared.bytes);
    if (written === 'full') {
      this.#commit((tx) => {
        tx.runtime.adapter = prepared.stateBefore;
        tx.storage.store.outbox.move(row.key, 'new');
      });
      return 'full';
    }
    if (written === 'held') {
      this.#held = row.key;
      return 'full';
    }
    this.#markWritten(row.key, prepared.isDelivered ? row : undefined);
    return 'sent';
  }

  #markWritten(key: string, delivered?: Outbound): void {
    this.#commit((tx) => {
      tx.storage.store.outbox.move(key, 'written');
      if (delivered) acknowledgeMessage(tx, delivered.ref);
    });
  }

  async #toOutgoing(doc: OutboxDoc): Promise<Outgoing | OwnLine> {
    if (doc.kind !== 'answer') return doc;
    const { requestId, answers, launch, line } = doc;
    const requestLine = await readRequestAt(join(this.#deps.jobDir, String(launch), 'out'), line);
    return { kind: 'answer', requestId, answers, requestLine };
  }
}

/** A hand-shake line that was written is never sent twice; nor does an old interrupt hit a new turn. */
function isRepeatable(row: Outbound): boolean {
  if (row.state === 'new') return false;
  if (row.state === 'writing') return true;
  return row.doc.kind === 'message' || row.doc.kind === 'answer';
}

type OwnLine = { kind: 'line'; line: string };

interface Prepared {
  bytes: Uint8Array;
  isDelivered: boolean;
  stateBefore: Json;
}

/** Makes the bytes and records that they are about to be written, with the adapter's state behind them. */
function prepare(
  tx: JobTransaction,
  row: Outbound,
  adapter: Adapter,
  outgoing: Outgoing | OwnLine,
): Prepared | 'refused' | undefined {
  const stateBefore = tx.runtime.adapter;
  const encoded: Encoded<Json> =
    outgoing.kind === 'line' ? { state: stateBefore, lines: [outgoing.line] } : adapter.encode(stateBefore, outgoing);
  if ('later' in encoded) return undefined;
  if ('refuse' in encoded) {
    const refused = { code: encoded.refuse, message: encoded.message };
    tx.storage.store.outbox.move(row.key, 'failed', { ...row.doc, refused });
    return 'refused';
  }
  const bytes = Buffer.from(encoded.lines.map((line) => `${line}\n`).join(''));
  tx.runtime.adapter = encoded.state;
  tx.storage.store.outbox.move(row.key, 'writing', { ...row.doc, size: bytes.length });
  // Lines of the adapter's own and interrupts are acknowledged by what follows, not by name.
  const isNamed = outgoing.kind === 'message' || outgoing.kind === 'answer';
  const isDelivered = encoded.delivered === true || !isNamed;
  return { bytes, isDelivered, stateBefore };
}
