/** Something outside of a run. */
export interface Effect<T> {
  /** The same for every attempt at it. */
  key: string;
  run: string;
  kind: 'push' | 'accept' | 'pull_request' | 'message';
  /** Of those with the same one, one at a time. */
  alone?: string;
  /** Asks the target whether it has happened; undefined: it has not. */
  happened(): Promise<T | undefined>;
  act(): Promise<T>;
}

/** In a fleet an effect is meant before it is done, so that it is done once, by whichever host. */
export type Once = <T extends object>(effect: Effect<T>) => Promise<T>;
