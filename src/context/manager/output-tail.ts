/** The last bytes a program wrote. */
export class OutputTail {
  readonly #most: number;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(most: number) {
    this.#most = most;
  }

  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk.subarray(-this.#most)]).subarray(-this.#most);
  }

  text(): string {
    return this.#bytes.toString('utf8').trim();
  }
}
