import type { Query } from 'web-tree-sitter';
import type { QueriedTree } from './definitions-query.ts';

interface Scope {
  start: number;
  end: number;
  bound: Set<string>;
  /** Declared `global` or `nonlocal`: assigned here but bound elsewhere. */
  elsewhere: Set<string>;
  parent: Scope | undefined;
}

/** The names that functions and blocks bind, out of a given set. */
export class LocalNames {
  readonly #scopes: Scope[] = [];
  readonly #bindings = new Set<number>();

  constructor(source: QueriedTree & { locals: Query }, names: ReadonlySet<string>) {
    let open: Scope | undefined;
    const captures = source.locals.captures(source.root, { progressCallback: source.isLate });
    for (const { name: role, node } of captures) {
      while (open !== undefined && open.end <= node.startIndex) open = open.parent;
      if (role === 'scope') {
        open = { start: node.startIndex, end: node.endIndex, bound: new Set(), elsewhere: new Set(), parent: open };
        this.#scopes.push(open);
        continue;
      }
      const name = source.text.slice(node.startIndex, node.endIndex);
      const isElsewhere = role === 'binding' && open?.elsewhere.has(name) === true;
      if (open === undefined || isElsewhere || !names.has(name)) continue;
      open[role === 'binding' ? 'bound' : 'elsewhere'].add(name);
      if (role === 'binding') this.#bindings.add(node.startIndex);
    }
  }

  /** A local name is bound at this index. */
  binds(index: number): boolean {
    return this.#bindings.has(index);
  }

  isLocal(name: string, index: number): boolean {
    for (let scope = this.#innermost(index); scope !== undefined; scope = scope.parent) {
      if (scope.elsewhere.has(name)) return false;
      if (scope.bound.has(name)) return true;
    }
    return false;
  }

  /** Scopes are in order of their start, so this is the last one before the index, or one around it. */
  #innermost(index: number): Scope | undefined {
    let low = 0;
    for (let high = this.#scopes.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#scopes[middle]?.start ?? 0) <= index) low = middle + 1;
      else high = middle;
    }
    let scope = this.#scopes[low - 1];
    while (scope !== undefined && scope.end <= index) scope = scope.parent;
    return scope;
  }
}
