/** A share in something that lives as long as somebody holds it. Releasing twice is releasing once. */
export interface Lease<T> {
  readonly value: T;
  release(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export function createLease<T>(value: T, giveBack: () => void | Promise<void>): Lease<T> {
  let released: Promise<void> | undefined;
  const release = () => {
    released ??= Promise.resolve(giveBack());
    return released;
  };
  return { value, release, [Symbol.asyncDispose]: release };
}
