type Gaps<T> = { [K in keyof T]: [Extract<T[K], null | undefined>] extends [never] ? never : K }[keyof T];

/** The object without members that are undefined or null: an optional field is absent or holds a value. */
export function defined<T extends object>(value: T): Omit<T, Gaps<T>> & { [K in Gaps<T>]?: NonNullable<T[K]> } {
  const given = Object.entries(value).filter(([, member]) => member !== undefined && member !== null);
  return Object.fromEntries(given) as ReturnType<typeof defined<T>>;
}
