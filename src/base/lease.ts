/** A share in something that lives as long as somebody holds it. A second release does nothing. */
export interface Lease<T> {
  readonly value: T;
  release(): Promise<void>;
}

export function createLease<T>(value: T, giveBack: () => void | Promise<void>): Lease<T> {
  let released: Promise<void> | undefined;
  return {
    value,
    release() {
      released ??= Promise.resolve(giveBack());
      return released;
    },
  };
}
