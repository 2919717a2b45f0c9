import { type Language as Grammar, type Node, Query, type QueryMatch } from 'web-tree-sitter';
import { type QueryRoots, queryRoots } from './query-roots.ts';
import type { IsLate } from './time-bound.ts';
import { addAliased, eachRoot } from './tree-memory.ts';
import type { WasmMemory } from './wasm-code.ts';

/** Every level of nesting keeps matches open and every node tries each of them: a depth of ten thousand would take minutes. */
const MOST_OPEN = 1_024;

export interface QueriedTree {
  root: Node;
  text: string;
  /** What is found after this is true is incomplete. */
  isLate: IsLate;
}

/** Runs a query only where one of its patterns may begin: visiting all nodes takes a third of the time of a parse. */
export class DefinitionsQuery {
  readonly #query: Query;
  readonly #roots: QueryRoots;
  readonly #memory: WasmMemory;
  /** The last run gave up some matches. */
  isCut = false;

  constructor(grammar: Grammar, source: string, memory: WasmMemory) {
    this.#query = new Query(grammar, source);
    this.#memory = memory;
    this.#roots = queryRoots(source, grammar);
    addAliased(this.#roots, grammar, memory.buffer);
  }

  /** Matches in the order of the nodes they begin at. */
  each({ root, text, isLate }: QueriedTree, read: (match: QueryMatch) => void): void {
    this.isCut = false;
    const options = { matchLimit: MOST_OPEN, maxStartDepth: 0, progressCallback: isLate };
    const show = (node: Node) => {
      if (isLate()) return;
      for (const match of this.#query.matches(node, options)) read(match);
      this.isCut ||= this.#query.didExceedMatchLimit();
    };
    eachRoot(root, this.#roots, { text, buffer: this.#memory.buffer, show });
  }
}
