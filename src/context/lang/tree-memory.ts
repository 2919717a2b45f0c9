import { type Language as Grammar, Node } from 'web-tree-sitter';
import { LineIndex } from '../../base/line-index.ts';
import { NEEDED, NEEDY, type QueryRoots, ROOT } from './query-roots.ts';

/*
 * Reads a tree directly from WASM memory, which is four times as fast as the cursor of tree-sitter, and nearly all nodes are of no
 * interest. The layout is that of web-tree-sitter 0.27.1 (subtree.h, parser.h), which package.json pins. tree-memory.test.ts
 * compares it with what tree-sitter itself says, for every grammar.
 *
 * A slot of eight bytes holds a small leaf (its lowest bit is set) or the address of a node, before which lie the slots of its children.
 */
const SLOT = 8;
const IS_LEAF = 1;
const CHILD_COUNT = 36 >> 2;
const PADDING = 4 >> 2;
const SIZE = 16 >> 2;
const SYMBOL = 40;
const FLAGS = 44;
const PRODUCTION = 66;
const IS_EXTRA = 4;
/** Of a language. */
const LONGEST_PRODUCTION = 36 >> 1;
const ALIAS_MAP = 80 >> 2;
const ALIASES = 84 >> 2;
/** Text is UTF-16 to tree-sitter. */
const UNIT = 2;
/** The row does not belong to a spot that needs something. */
const NO_SPOT = -1;

interface Showing {
  text: string;
  buffer: ArrayBuffer;
  show: (node: Node) => void;
}

/** The binding keeps the alias under the key 0. */
type Movable = Node & { 0: number };

type Memory = ReturnType<typeof memoryOf>;

function memoryOf(buffer: ArrayBuffer) {
  return { words: new Uint32Array(buffer), halves: new Uint16Array(buffer) };
}

/** A node that a rule may rename to the kind of a root may be one, whatever it contains. */
export function addAliased(roots: QueryRoots, grammar: Grammar, buffer: ArrayBuffer): void {
  const { words, halves } = memoryOf(buffer);
  const { 0: language } = grammar as unknown as { 0: number };
  let at = (words[(language >> 2) + ALIAS_MAP] as number) >> 1;
  for (let count = 0; halves[at] !== 0; at += 2 + count) {
    const [symbol = 0, length = 0] = halves.subarray(at, at + 2);
    count = length;
    for (const alias of halves.subarray(at + 2, at + 2 + count)) {
      const asAlias = roots[alias] as number;
      if (asAlias !== 0) roots[symbol] = ((roots[symbol] as number) | asAlias) & ~NEEDY;
    }
  }
}

/** Shows the nodes at which a pattern may begin, in the order of the text. They are one object that moves: there are many. */
export function eachRoot(tree: Node, roots: QueryRoots, { text, buffer, show }: Showing): void {
  const lines = new LineIndex(text);
  const node: Movable = Object.assign(Object.create(Node.prototype), { tree: tree.tree, 0: 0 });
  new TreeWalk(memoryOf(buffer), tree.id, roots).spots((slot, alias, start) => {
    node.id = slot;
    node.startIndex = start / UNIT;
    const { line, column } = lines.position(node.startIndex);
    node.startPosition = { row: line - 1, column };
    node[0] = alias;
    show(node);
  });
}

/** One walk over a tree, slot by slot. It does not recurse, because a tree may be ten thousand levels deep. */
class TreeWalk {
  readonly #words: Uint32Array;
  readonly #halves: Uint16Array;
  readonly #roots: QueryRoots;
  readonly #language: number;
  /** Slot, alias and start of each spot. A slot of 0 is a spot that was discarded. */
  readonly #spots: number[] = [];
  /** For each row around this one: its next slot, its end, the spot it belongs to, and `#needed` before that spot. */
  readonly #outer: number[] = [];
  #slot: number;
  /** The slots of a node end where the node itself begins. */
  #end: number;
  #spot = NO_SPOT;
  #before = 0;
  #needed = 0;
  #start = 0;

  constructor({ words, halves }: Memory, top: number, roots: QueryRoots) {
    this.#words = words;
    this.#halves = halves;
    this.#roots = roots;
    this.#language = (words[(top + SLOT) >> 2] as number) >> 2;
    this.#slot = top;
    this.#end = top + SLOT;
  }

  spots(found: (slot: number, alias: number, start: number) => void): void {
    do {
      while (this.#slot !== this.#end) this.#look();
    } while (this.#leave());
    const spots = this.#spots;
    for (let at = 0; at < spots.length; at += 3)
      if (spots[at] !== 0) found(spots[at] as number, spots[at + 1] as number, spots[at + 2] as number);
  }

  #look(): void {
    const slot = this.#slot;
    this.#slot += SLOT;
    const word = this.#words[slot >> 2] as number;
    const isLeaf = (word & IS_LEAF) !== 0;
    const kind = this.#roots[isLeaf ? (word >>> 8) & 0xff : (this.#halves[(word + SYMBOL) >> 1] as number)] as number;
    if ((kind & NEEDED) !== 0) this.#needed += 1;
    if (isLeaf) {
      const sizes = this.#words[(slot >> 2) + 1] as number;
      this.#start += ((sizes >>> 16) & 0xff) + (sizes >>> 24);
    } else this.#enter(slot, word, kind);
  }

  #enter(slot: number, address: number, kind: number): void {
    const node = address >> 2;
    const padding = this.#words[node + PADDING] as number;
    const count = this.#words[node + CHILD_COUNT] as number;
    if (count === 0) {
      this.#start += padding + (this.#words[node + SIZE] as number);
      return;
    }
    const isRoot = (kind & ROOT) !== 0;
    const spot = this.#spots.length;
    if (isRoot) this.#spots.push(slot, this.#aliasOf(slot), this.#start + padding);
    this.#outer.push(this.#slot, this.#end, this.#spot, this.#before);
    this.#slot = address - count * SLOT;
    this.#end = address;
    this.#spot = isRoot && (kind & NEEDY) !== 0 ? spot : NO_SPOT;
    this.#before = this.#needed;
  }

  #leave(): boolean {
    if (this.#spot !== NO_SPOT && this.#before === this.#needed) this.#spots[this.#spot] = 0;
    if (this.#outer.length === 0) return false;
    this.#before = this.#outer.pop() as number;
    this.#spot = this.#outer.pop() as number;
    this.#end = this.#outer.pop() as number;
    this.#slot = this.#outer.pop() as number;
    return true;
  }

  /** A rule counts its parts without the extras, such as comments, between them. */
  #aliasOf(slot: number): number {
    if (this.#outer.length === 0) return 0;
    const parent = this.#end;
    const production = this.#halves[(parent + PRODUCTION) >> 1] as number;
    if (production === 0 || this.#isExtra(slot)) return 0;
    let part = 0;
    for (let each = parent - (this.#words[(parent >> 2) + CHILD_COUNT] as number) * SLOT; each < slot; each += SLOT)
      if (!this.#isExtra(each)) part += 1;
    const longest = this.#halves[(this.#language << 1) + LONGEST_PRODUCTION] as number;
    const aliases = this.#words[this.#language + ALIASES] as number;
    return this.#halves[(aliases >> 1) + production * longest + part] as number;
  }

  #isExtra(slot: number): boolean {
    const word = this.#words[slot >> 2] as number;
    const flags = (word & IS_LEAF) !== 0 ? word >>> 1 : (this.#halves[(word + FLAGS) >> 1] as number);
    return (flags & IS_EXTRA) !== 0;
  }
}
