type Optional<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };
type Given<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] };

/** The object without its undefined members: an optional field is absent or holds a value, it is never `undefined`. */
export function defined<T extends object>(value: T): Given<T> & Optional<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Given<T> &
    Optional<T>;
}
