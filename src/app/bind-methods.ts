/** Methods that can be passed on by themselves. */
export function bindMethods<T extends object, K extends keyof T>(object: T, ...names: K[]): Pick<T, K> {
  const entries = names.map((name) => [name, (object[name] as (...args: unknown[]) => unknown).bind(object)]);
  return Object.fromEntries(entries) as Pick<T, K>;
}
