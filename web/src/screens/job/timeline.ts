import { signal } from '@preact/signals';
import type { AgentEvent } from '../../../../src/protocol/events.ts';
import { connection } from '../../connection/connection.ts';
import { op } from '../../connection/op.ts';
import { type Row, Rows } from './rows.ts';

const PAGE = 500;
/** Rows are drawn at most once in so many milliseconds, however fast events come. */
const DRAW_MS = 60;

/** The events of one job: its tail at first, older ones when somebody goes there, and new ones as they come. */
export class Timeline {
  readonly rows = signal<readonly Row[]>([]);
  /** Nothing older is left to read. */
  readonly isWhole = signal(false);
  readonly isRead = signal(false);
  readonly refused = signal<unknown>(undefined);
  readonly #id: string;
  readonly #built = new Rows();
  #events: AgentEvent[] = [];
  #isReading = false;
  #early: AgentEvent[] | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #stops: (() => void)[] = [];

  constructor(id: string) {
    this.#id = id;
  }

  get events(): readonly AgentEvent[] {
    return this.#events;
  }

  start(): void {
    this.#stops.push(
      connection.onEvent((event) => event.agentId === this.#id && this.#hear(event)),
      connection.onLive(() => void this.#catchUp()),
    );
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    clearTimeout(this.#timer);
  }

  /** True when there was something older. */
  async readOlder(): Promise<boolean> {
    const first = this.#events[0];
    if (this.#isReading || this.isWhole.peek() || !first) return false;
    return this.#reading(async () => {
      const { events, truncated } = await op('output', { id: this.#id, before: first.seq, limit: PAGE });
      this.isWhole.value = !truncated;
      this.#events = [...events, ...this.#events] as AgentEvent[];
      this.#built.prepend(events as AgentEvent[]);
      this.rows.value = [...this.#built.all];
    });
  }

  /** Events that come while older ones are read wait for their turn. */
  #hear(event: AgentEvent): void {
    if (this.#early) this.#early.push(event);
    else this.#append([event]);
  }

  async #catchUp(): Promise<void> {
    const last = this.#events.at(-1);
    this.#early ??= [];
    await this.#reading(() => (last ? this.#readSince(last.seq) : this.#readTail()));
    this.#append(this.#early);
    this.#early = undefined;
  }

  async #readTail(): Promise<void> {
    const newest = Number.MAX_SAFE_INTEGER;
    const { events, truncated } = await op('output', { id: this.#id, before: newest, limit: PAGE });
    this.isWhole.value = !truncated;
    this.#append(events as AgentEvent[]);
    this.#draw();
    this.isRead.value = true;
  }

  async #readSince(seq: number): Promise<void> {
    for (let since = String(seq), isMore = true; isMore; ) {
      const page = await op('output', { id: this.#id, since, limit: PAGE });
      this.#append(page.events as AgentEvent[]);
      since = page.nextCursor;
      isMore = page.truncated;
    }
  }

  async #reading(read: () => Promise<void>): Promise<boolean> {
    this.#isReading = true;
    try {
      await read();
      this.refused.value = undefined;
      return true;
    } catch (error) {
      this.refused.value = error;
      return false;
    } finally {
      this.#isReading = false;
    }
  }

  /** Each event once, whichever way it came. */
  #append(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.seq <= (this.#events.at(-1)?.seq ?? 0)) continue;
      this.#events.push(event);
      this.#built.add(event);
    }
    this.#timer ??= setTimeout(() => this.#draw(), DRAW_MS);
  }

  #draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.rows.value = [...this.#built.all];
  }
}
