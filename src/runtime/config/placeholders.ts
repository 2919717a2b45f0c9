/** `{{NAME}}`. Names like `__os__` are facts about the machine, not secrets. */
const PLACEHOLDER = /\{\{\s*((?!__)[A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}/g;

export const hasPlaceholder = (text: string) => text.search(PLACEHOLDER) !== -1;

interface Wanted {
  name: string;
  path: string[];
}

/** Looks at values, never at keys. */
export function placeholdersIn(value: unknown, path: string[] = []): Wanted[] {
  if (typeof value === 'string') {
    return [...value.matchAll(PLACEHOLDER)].map((match) => ({ name: match[1] ?? '', path }));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => placeholdersIn(child, [...path, key]));
}

/** Fills each placeholder once: braces inside a secret stay. */
export function fillLeaves<T>(value: T, values: ReadonlyMap<string, string>): T {
  const fill = (part: unknown): unknown => {
    if (typeof part === 'string') return part.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole);
    if (Array.isArray(part)) return part.map(fill);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, child]) => [key, fill(child)]));
  };
  return fill(value) as T;
}

const SECRET_KEY = /(?:key|token|secret|password)s?$/i;

/** Secrets that are written out, for redaction. They are known by the names of their keys. */
export function secretsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return SECRET_KEY.test(key) && !hasPlaceholder(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((child) => secretsIn(child, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => secretsIn(child, name));
}
