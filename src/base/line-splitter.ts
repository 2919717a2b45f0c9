const NEWLINE = 0x0a;

interface SplitterOptions {
  longest: number;
  onLine(line: string): void;
  /** Called once for each dropped line. */
  onTooLong(): void;
}

/** Splits chunks into lines in bounded memory: a line beyond the limit is dropped. */
export class LineSplitter {
  readonly #options: SplitterOptions;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(options: SplitterOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#deliver();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#options.longest) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #deliver(): void {
    const [parts, size] = [this.#parts, this.#size];
    this.#parts = [];
    this.#size = 0;
    if (size > this.#options.longest) this.#options.onTooLong();
    else if (size > 0) this.#options.onLine(Buffer.concat(parts).toString('utf8'));
  }
}
