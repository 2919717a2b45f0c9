export interface Queries {
  query<T extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<T[]>;
}

/** A connection of its own, for what belongs to a session: advisory locks, LISTEN. */
export interface Connection extends Queries {
  readonly backendPid: number;
  onNotice(hear: (heard: Heard) => void): void;
  /** Aborted when the connection is over, with why. */
  readonly over: AbortSignal;
  close(): Promise<void>;
}

export interface Database extends Queries {
  /** All of it or nothing. May run again from the start when the caller repeats it after `storage_unavailable`. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** A notice is a hint. Undefined: some may have been missed, so look. Ends with the returned function or the database. */
  listen(channel: string, hear: (heard: Heard | undefined) => void): Promise<() => void>;
  connect(): Promise<Connection>;
  close(): Promise<void>;
}

export interface Heard {
  channel: string;
  payload: string;
}
