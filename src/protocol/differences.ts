/** What is different between two states of one object, so that the later one can be made from the earlier. */
export interface Difference {
  /** The fields that lead there. */
  at: string[];
  /** Of a list: so many of its first entries stay, and those of `value` follow them. */
  keep?: number | undefined;
  /** What stands there now; absent where nothing does any more. */
  value?: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isSame = (a: unknown, b: unknown) => a === b || JSON.stringify(a) === JSON.stringify(b);

export function differences(before: unknown, after: unknown, at: readonly string[] = []): Difference[] {
  if (isSame(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return [{ at: [...at], ...tailOf(before, after) }];
  if (!isFields(before) || !isFields(after)) return [{ at: [...at], value: after }];
  const gone = Object.keys(before).filter((name) => own(after, name) === undefined);
  const there = Object.keys(after).filter((name) => after[name] !== undefined);
  return [
    ...gone.map((name) => ({ at: [...at, name] })),
    ...there.flatMap((name) => differences(own(before, name), after[name], [...at, name])),
  ];
}

function tailOf(before: readonly unknown[], after: readonly unknown[]): Pick<Difference, 'keep' | 'value'> {
  const other = after.findIndex((entry, index) => index >= before.length || !isSame(entry, before[index]));
  const keep = other === -1 ? after.length : other;
  return { keep, value: after.slice(keep) };
}

/** The earlier state stays as it is. */
export function withDifferences<T>(before: T, all: readonly Difference[]): T {
  return all.reduce<unknown>((state, each) => changed(state, each, 0), before) as T;
}

/** The state after one more answer of who tells only what is different since `from`; 0: all of it was told. */
export function afterNews<T>(known: T | undefined, news: { from: number; differences: Difference[] }): T | undefined {
  return withDifferences(news.from === 0 ? undefined : known, news.differences);
}

function changed(state: unknown, difference: Difference, depth: number): unknown {
  const name = difference.at[depth];
  if (name === undefined) {
    if (difference.keep === undefined) return difference.value;
    return [...(Array.isArray(state) ? state.slice(0, difference.keep) : []), ...(difference.value as unknown[])];
  }
  const fields = isFields(state) ? state : {};
  const value = changed(own(fields, name), difference, depth + 1);
  // Made by entries: a field may have any name.
  const others = Object.entries(fields).filter(([other]) => other !== name || value !== undefined);
  const isNew = value !== undefined && !Object.hasOwn(fields, name);
  return Object.fromEntries([
    ...others.map(([other, kept]) => [other, other === name ? value : kept]),
    ...(isNew ? [[name, value]] : []),
  ]);
}

const own = (fields: Fields, name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined);
