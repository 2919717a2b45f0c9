/** A growing run of bytes. One buffer and not a list of pieces: a line that arrives byte by byte must not cost 100 times its size. */
export class ByteStore {
  #bytes: Buffer;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  push(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, this.#bytes.length * 2));
      larger.set(this.view());
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** Valid until the next push. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

/** The last `size` bytes of all that was pushed. */
export class ByteTail {
  readonly #bytes: Buffer;
  #length = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafe(size);
  }

  push(bytes: Uint8Array): void {
    const size = this.#bytes.length;
    const added = bytes.subarray(Math.max(0, bytes.length - size));
    const kept = Math.min(this.#length, size - added.length);
    this.#bytes.copyWithin(0, this.#length - kept, this.#length);
    this.#bytes.set(added, kept);
    this.#length = kept + added.length;
  }

  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}
