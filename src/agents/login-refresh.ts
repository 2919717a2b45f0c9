import type { LoginFile } from './adapter.ts';

type Fields = Record<string, unknown>;

/**
 * The log-in `before` with the fresh tokens of `after`, or undefined where `after` is no later log-in of the same account:
 * a log-out, another account, or something else altogether. Nothing but the tokens is taken over.
 */
export function refreshedLogin(about: LoginFile, before: unknown, after: unknown): Fields | undefined {
  if (!isFields(before) || !isFields(after)) return undefined;
  if (!about.each) return refreshedEntry(about, before, after);
  const fresh = Object.entries(before).map(([name, entry]) => {
    const theirs = Object.hasOwn(after, name) ? after[name] : undefined;
    return [name, refreshedLogin({ ...about, each: false }, entry, theirs) ?? entry] as const;
  });
  const isSame = fresh.every(([name, entry]) => entry === before[name]);
  return isSame ? undefined : Object.fromEntries(fresh);
}

function refreshedEntry({ same, takes, later }: LoginFile, before: Fields, after: Fields): Fields | undefined {
  const isSame = same.every((path) => at(before, path) === at(after, path));
  const isWhole = takes.every((path) => isToken(at(after, path)) || at(before, path) === undefined);
  if (!isSame || !isWhole || !(timeOf(at(after, later)) > timeOf(at(before, later)))) return undefined;
  return takes.reduce((login, path) => withValue(login, path, at(after, path)), before);
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isToken = (value: unknown) => (typeof value === 'string' && value !== '') || typeof value === 'number';

const timeOf = (value: unknown) => (typeof value === 'string' ? Date.parse(value) : Number(value));

/** By a path such as `tokens.access_token`. */
function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((of, name) => (isFields(of) ? of[name] : undefined), value);
}

function withValue(of: Fields, path: string, value: unknown): Fields {
  const [name = '', ...rest] = path.split('.');
  if (value === undefined) return of;
  const inner = of[name];
  return { ...of, [name]: rest.length === 0 ? value : withValue(isFields(inner) ? inner : {}, rest.join('.'), value) };
}
