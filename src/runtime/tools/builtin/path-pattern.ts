import { wildcardMatch } from '../../permissions/wildcard.ts';

const MOST_ALTERNATIVES = 64;

/** `**` any folders, `*` and `?` within a name, `{a,b}` either. Polynomial for every pattern: a model writes them. */
export function createPathPattern(pattern: string): (path: string) => boolean {
  const alternatives = expandBraces(pattern.replace(/^\.\//, '')).map((each) => each.split('/'));
  return (path) => alternatives.some((parts) => matchParts(parts, path.split('/')));
}

function expandBraces(pattern: string): string[] {
  let open = [pattern];
  for (let round = 0; round < MOST_ALTERNATIVES; round++) {
    const next = open.flatMap((each) => {
      const [whole, choices] = /\{([^{}]*)\}/.exec(each) ?? [];
      if (whole === undefined || choices === undefined) return [each];
      return choices.split(',').map((choice) => each.replace(whole, () => choice));
    });
    if (next.length === open.length && next.every((each, n) => each === open[n])) return next;
    if (next.length > MOST_ALTERNATIVES) return next.slice(0, MOST_ALTERNATIVES);
    open = next;
  }
  return open;
}

/** Row by row over the names: which beginnings of the pattern fit the path so far. */
function matchParts(parts: readonly string[], names: readonly string[]): boolean {
  let reached = closure(parts, new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const at of reached) {
      if (parts[at] === '**') next.add(at);
      else if (at < parts.length && wildcardMatch(parts[at] ?? '', name)) next.add(at + 1);
    }
    reached = closure(parts, next);
  }
  return reached.has(parts.length);
}

/** `**` may stand for nothing. */
function closure(parts: readonly string[], places: ReadonlySet<number>): Set<number> {
  const all = new Set(places);
  for (const at of all) if (parts[at] === '**') all.add(at + 1);
  return all;
}
