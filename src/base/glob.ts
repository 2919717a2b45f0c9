import { ReefError } from '../protocol/errors.ts';

/**
 * Globs: `*` and `?` within a part of a path, `**` for any number of parts, `{a,b}` for alternatives. Brackets are plain
 * characters: `app/[id]/page.tsx` is the name of a file. Matching never takes more than length × length, and a caller with
 * many patterns and paths counts its steps.
 */
export interface Pattern {
  text: string;
  isGlob: boolean;
  alternatives: readonly (readonly string[])[];
}

/** How much comparing may still cost. When nothing is left, `matchesGlob` says yes to everything: ask `left` as well. */
export interface Steps {
  left: number;
}

const WILD = /[*?]|\{[^{},]*,[^{}]*\}/;
const BRACES = /\{([^{},]*,[^{}]*)\}/;
const MOST_ALTERNATIVES = 64;

/** Undefined when there are too many alternatives. */
export function compileGlob(text: string): Pattern | undefined {
  const alternatives = expandBraces(text);
  if (alternatives === undefined) return undefined;
  return { text, isGlob: WILD.test(text), alternatives: alternatives.map((each) => each.split('/')) };
}

/** Tells the paths that a glob of a person or a model means. */
export function pathFilter(glob: string): (path: string) => boolean {
  const pattern = compileGlob(glob.replace(/^\.\//, ''));
  if (pattern) return (path) => matchesGlob(pattern, path);
  const shown = glob.slice(0, 80);
  throw new ReefError('bad_request', `The pattern has more than ${MOST_ALTERNATIVES} alternatives: ${shown}`);
}

function expandBraces(text: string): string[] | undefined {
  const done: string[] = [];
  const open = [text];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const found = BRACES.exec(next);
    if (!found) done.push(next);
    else {
      const [whole, list = ''] = found;
      const end = found.index + whole.length;
      for (const each of list.split(',')) open.push(next.slice(0, found.index) + each + next.slice(end));
    }
    if (open.length + done.length > MOST_ALTERNATIVES) return undefined;
  }
  return done;
}

export function matchesGlob({ text, isGlob, alternatives }: Pattern, path: string, steps?: Steps): boolean {
  if (!isGlob) return text === path;
  const isEqual = (pattern: string, part: string) => matchesWildcard(pattern, part, steps);
  const parts = { text: path.split('/'), isStar: (part: string) => part === '**', isEqual, steps };
  return alternatives.some((pattern) => matchSequence({ pattern, ...parts }));
}

/** Over a whole text: `*` is any text, slashes and line ends too, `?` one character. */
export function matchesWildcard(pattern: string, text: string, steps?: Steps): boolean {
  if (!WILD.test(pattern)) return pattern === text;
  const isEqual = (wanted: string, found: string) => wanted === '?' || wanted === found;
  return matchSequence({ pattern: [...pattern], text: [...text], isStar: (sign) => sign === '*', isEqual, steps });
}

interface Sequences {
  pattern: readonly string[];
  text: readonly string[];
  isStar(item: string): boolean;
  isEqual(item: string, found: string): boolean;
  steps: Steps | undefined;
}

/** The last star takes one more whenever what follows it does not fit: earlier stars need not be tried again. */
function matchSequence({ pattern, text, isStar, isEqual, steps }: Sequences): boolean {
  let [at, from, star, taken] = [0, 0, -1, 0];
  while (from < text.length) {
    if (steps && --steps.left < 0) return true;
    const item = pattern[at];
    if (item !== undefined && isStar(item)) {
      star = at++;
      taken = from;
    } else if (item !== undefined && isEqual(item, text[from] ?? '')) {
      at++;
      from++;
    } else if (star >= 0) {
      at = star + 1;
      from = ++taken;
    } else return false;
  }
  return pattern.slice(at).every(isStar);
}

/** The parts before the first wildcard, of each alternative. */
function staticPrefixes({ alternatives }: Pattern): (readonly string[])[] {
  return alternatives.map((parts) => {
    const wild = parts.findIndex((part) => WILD.test(part));
    return wild === -1 ? parts : parts.slice(0, wild);
  });
}

/**
 * Whether a glob and another entry may mean one file. Two globs may when the fixed beginning of one lies within that of
 * the other. A path may when it matches, or when it is a folder around the glob.
 */
export function globMeets(glob: Pattern, other: Pattern, steps: Steps): boolean {
  const prefixes = staticPrefixes(glob);
  steps.left -= prefixes.length * other.alternatives.length;
  if (other.isGlob) return staticPrefixes(other).some((b) => prefixes.some((a) => isNested(a, b)));
  const parts = other.text.split('/');
  return matchesGlob(glob, other.text, steps) || prefixes.some((a) => a.length >= parts.length && isNested(a, parts));
}

function isNested(a: readonly string[], b: readonly string[]): boolean {
  const length = Math.min(a.length, b.length);
  return a.slice(0, length).every((part, index) => part === b[index]);
}
