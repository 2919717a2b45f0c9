import type { TmuxTerminal } from '../../process/terminal.ts';
import { acknowledgeMessage, type Outbound, type OutboxDoc } from '../outbox.ts';
import { sayToHook, type TalkDeps } from './said.ts';

const RETRY_MS = 1_000;

type Refused = NonNullable<OutboxDoc['refused']>;

interface KeyboardDeps extends TalkDeps {
  terminal: TmuxTerminal;
  waiting: () => Outbound[];
  awakeMs: () => number;
}

/**
 * Types what waits in the outbox into a terminal that takes input; typed counts as delivered, for a terminal acknowledges nothing.
 * Answers are not typed: they go to the hook that asked.
 */
export class Keyboard {
  readonly #deps: KeyboardDeps;
  #retryAt = 0;

  constructor(deps: KeyboardDeps) {
    this.#deps = deps;
  }

  /** What a killed daemon was typing may have arrived: it is typed again, and marked as a repeat. */
  recover(): 'ok' {
    return this.#deps.commit((tx) => {
      const { outbox } = tx.storage.store;
      const torn = outbox.open<OutboxDoc>(tx.job.id).filter((row) => row.state === 'writing');
      for (const row of torn) outbox.move(row.key, 'new', { ...row.doc, isRepeat: true });
      return 'ok';
    });
  }

  async deliver(): Promise<void> {
    const { waiting, terminal, awakeMs, commit } = this.#deps;
    const all = waiting();
    for (const row of all) if (isForHook(row.doc)) await sayToHook(this.#deps, row, row.doc);
    const rows = all.filter(({ doc }) => !isForHook(doc));
    if (rows.length === 0 || awakeMs() < this.#retryAt || !terminal.isReady()) return;
    for (const row of rows) {
      const refused = refusal(row.doc);
      if (refused) commit((tx) => tx.storage.store.outbox.move(row.key, 'failed', { ...row.doc, refused }));
      else if (row.doc.kind === 'message' && !(await this.#type(row, row.doc.text))) return;
    }
  }

  close(): void {}

  async #type(row: Outbound, text: string): Promise<boolean> {
    const { commit, terminal, awakeMs } = this.#deps;
    commit((tx) => tx.storage.store.outbox.move(row.key, 'writing'));
    const isTyped = await terminal.type(text);
    commit((tx) => {
      if (isTyped) acknowledgeMessage(tx, row.ref);
      else tx.storage.store.outbox.move(row.key, 'new');
    });
    if (!isTyped) this.#retryAt = awakeMs() + RETRY_MS;
    return isTyped;
  }
}

function isForHook(doc: OutboxDoc): doc is Extract<OutboxDoc, { kind: 'answer' | 'line' }> {
  return doc.kind === 'answer' || doc.kind === 'line';
}

/** Keys may answer what an agent asks in its terminal, and answers are for people: no job may type. */
function refusal(doc: OutboxDoc): Refused | undefined {
  if (doc.kind !== 'message') return { code: 'send_unsupported', message: 'a terminal is told nothing but text' };
  if (!doc.by.startsWith('job:')) return undefined;
  return { code: 'not_yours', message: 'a terminal is typed into by people, not by jobs' };
}
