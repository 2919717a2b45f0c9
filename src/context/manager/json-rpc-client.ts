export interface RequestOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface JsonRpcClient {
  request<T>(method: string, params: unknown, options?: RequestOptions): Promise<T>;
  notify(method: string, params: unknown): void;
  close(): Promise<void>;
}

/** What decides when a server may go (C-075, C-076): told by its client of every question and announcement. */
export class Activity {
  readonly #now: () => number;
  #inFlight = 0;
  #lastAt: number;

  constructor(now: () => number) {
    this.#now = now;
    this.#lastAt = now();
  }

  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  /** Monotonic. */
  get lastAt(): number {
    return this.#lastAt;
  }

  touch(): void {
    this.#lastAt = this.#now();
  }

  begin(): void {
    this.#inFlight += 1;
    this.touch();
  }

  end(): void {
    this.#inFlight -= 1;
    this.touch();
  }
}
