/** Where things stand in a file, counted from 1 as editors do. */
export interface Position {
  line: number;
  column: number;
}

export class LineIndex {
  readonly #starts = [0];

  constructor(text: string) {
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.#starts.push(at + 1);
  }

  at(offset: number): Position {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}

/** RFC 6901. */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map(stepOf).join('');
}

export function stepOf(step: string | number): string {
  return `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Finds the place of a pointer, or of the nearest that encloses it. */
export function offsetOf(offsets: ReadonlyMap<string, number>, pointer: string): number {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const found = offsets.get(at);
    if (found !== undefined) return found;
  }
  return offsets.get('') ?? 0;
}
