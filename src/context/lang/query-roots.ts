import type { Language as Grammar } from 'web-tree-sitter';

/** A pattern may begin at a node of this kind, … */
export const ROOT = 1;
/** … but only if one of the kinds `NEEDED` lies below it. */
export const NEEDY = 2;
export const NEEDED = 4;

/** By the number of a kind of node: its role in a query. */
export type QueryRoots = Uint8Array;

/** The number of error nodes in tree-sitter. */
const ERROR = 0xffff;

/** Nearly every node contains one of these, so needing it excludes nothing. */
const ANYWHERE = /identifier$/;

/** The kinds of nodes at which patterns begin. In our files each pattern starts a line with the kind of its outermost node. */
export function queryRoots(query: string, grammar: Grammar): QueryRoots {
  const roots: QueryRoots = new Uint8Array(ERROR + 1);
  const needs = new Map<string, string[] | undefined>();
  for (const pattern of patternsOf(query)) {
    const root = /\w+/.exec(pattern)?.[0] ?? '';
    const known = needs.has(root) ? needs.get(root) : [];
    const values = valuesOf(pattern);
    needs.set(root, known && values && [...known, ...values]);
  }
  const mark = (kind: string, as: number) => {
    for (const number of numbersOf(kind, grammar)) roots[number] = (roots[number] ?? 0) | as;
  };
  for (const [root, kinds] of needs) {
    mark(root, kinds === undefined ? ROOT : ROOT | NEEDY);
    for (const kind of kinds ?? []) mark(kind, NEEDED);
  }
  return roots;
}

function patternsOf(query: string): string[] {
  return query.split(/^(?=\()/m).filter((text) => text.startsWith('('));
}

/** The kinds that the value of the outermost node may have: a and b for `right: [(a) (b)]`. */
function valuesOf(pattern: string): string[] | undefined {
  const fields = [...pattern.matchAll(/\b(?:value|right): (\[[^\]]*\]|\(\w+)/g)];
  const [, value = ''] = fields.find(({ index }) => depthOf(pattern.slice(0, index)) === 1) ?? [];
  const kinds = value.match(/\w+/g);
  return kinds?.some((kind) => ANYWHERE.test(kind)) === false ? kinds : undefined;
}

function depthOf(before: string): number {
  return before.split(/[([]/).length - before.split(/[)\]]/).length;
}

function numbersOf(kind: string, grammar: Grammar): number[] {
  if (kind === 'ERROR') return [ERROR];
  return [...grammar.types.entries()].flatMap(([number, type]) => (type === kind ? [number] : []));
}
