import type { Node, TreeCursor } from 'web-tree-sitter';

/** A node on the way from the root to a position. */
export interface PathNode {
  type: string;
  isNamed: boolean;
  /** Its role in its parent. */
  field: string | null;
  start: number;
  end: number;
}

/**
 * Walks from hit to hit with one cursor, only forwards. A node finds its parent only by a search from the root, and the binding's
 * own search for a child (`gotoFirstChildForIndex` of 0.27.1) reads from a wrong address.
 */
export class TreePaths {
  readonly #cursor: TreeCursor;
  readonly #path: PathNode[];

  constructor(root: Node) {
    this.#cursor = root.walk();
    this.#path = [this.#here()];
  }

  /** The nodes around an index, root first. Indexes must ascend. The next call reuses the array. */
  to(index: number): readonly PathNode[] {
    while (this.#path.length > 1 && !contains(this.#path.at(-1), index)) {
      if (contains(this.#path.at(-2), index)) {
        if (!this.#alongTo(index)) return this.#path;
        break;
      }
      this.#up();
    }
    while (this.#cursor.gotoFirstChild()) {
      this.#path.push(this.#here());
      if (!this.#alongTo(index)) break;
    }
    return this.#path;
  }

  /** Moves to the sibling that contains the index. If there is none, moves back to the parent. */
  #alongTo(index: number): boolean {
    while (this.#cursor.endIndex <= index && this.#cursor.gotoNextSibling());
    this.#path[this.#path.length - 1] = this.#here();
    if (contains(this.#path.at(-1), index)) return true;
    this.#up();
    return false;
  }

  #up(): void {
    this.#cursor.gotoParent();
    this.#path.pop();
  }

  delete(): void {
    this.#cursor.delete();
  }

  #here(): PathNode {
    const cursor = this.#cursor;
    return {
      type: cursor.nodeType,
      isNamed: cursor.nodeIsNamed,
      field: cursor.currentFieldName,
      start: cursor.startIndex,
      end: cursor.endIndex,
    };
  }
}

function contains(node: PathNode | undefined, index: number): boolean {
  return node !== undefined && node.start <= index && index < node.end;
}
