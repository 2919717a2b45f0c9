/** `{{NAME}}`; names like `__os__` are facts about the machine and no secrets. */
const PLACEHOLDER = /\{\{\s*((?!__)[A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}/g;

export const hasPlaceholder = (text: string) => text.search(PLACEHOLDER) !== -1;

export interface Wanted {
  name: string;
  path: string[];
}

/** Only values are looked at, never keys: a secret is no name of a setting. */
export function placeholdersIn(value: unknown, path: string[] = []): Wanted[] {
  if (typeof value === 'string') {
    return [...value.matchAll(PLACEHOLDER)].map((match) => ({ name: match[1] ?? '', path }));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => placeholdersIn(child, [...path, key]));
}

/** What is filled in is not looked at again: a value may hold braces of its own. */
export function fillLeaves<T>(value: T, values: ReadonlyMap<string, string>): T {
  return fillAny(value, values) as T;
}

function fillAny(value: unknown, values: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') {
    return value.replace(PLACEHOLDER, (whole, name: string) => values.get(name) ?? whole);
  }
  if (Array.isArray(value)) return value.map((child) => fillAny(child, values));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, fillAny(child, values)]));
}

const SECRET_KEY = /(?:key|token|secret|password)s?$/i;

/** Secrets somebody wrote down where a placeholder could stand, for redaction: by the names of their keys. */
export function secretsIn(value: unknown, key = ''): string[] {
  if (typeof value === 'string') return SECRET_KEY.test(key) && !hasPlaceholder(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((child) => secretsIn(child, key));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => secretsIn(child, name));
}
