import type { Language as Grammar } from 'web-tree-sitter';

/** A pattern may begin at a node of this kind, … */
export const ROOT = 1;
/** … but only if one of the kinds `NEEDED` lies below it. */
export const NEEDY = 2;
export const NEEDED = 4;

/** By the number of a kind of node, what it is to a query. */
export type QueryRoots = Uint8Array;

/** tree-sitter's number for what it could not parse. */
const ERROR = 0xffff;

/** What lies below nearly every node: to need it saves nothing. */
const ANYWHERE = /identifier$/;

/** At which nodes the patterns of a query begin. In our files each pattern begins a line, with the kind of its outermost node. */
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

/** What the value must be that a pattern's outermost node has: of `right: [(a) (b)]` a and b. */
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
