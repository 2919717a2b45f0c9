import type { CodeParser } from '../lang/contract.ts';

interface Counted {
  parser: CodeParser;
  running: number;
  isOld: boolean;
}

/**
 * The parser pool, made when first needed and replaced when memory is short, because WASM memory never shrinks. An old pool ends
 * after its last call: one that is ended in the middle of a file would report the file as the culprit.
 */
export class ReplaceableParser {
  readonly #workers: number;
  #current: Promise<Counted> | undefined;

  constructor(workers: number) {
    this.#workers = workers;
  }

  async get(): Promise<CodeParser> {
    this.#current ??= this.#make();
    const counted = await this.#current;
    const count = async <T>(call: Promise<T>): Promise<T> => {
      counted.running += 1;
      try {
        return await call;
      } finally {
        counted.running -= 1;
        if (counted.isOld && counted.running === 0) void counted.parser.close();
      }
    };
    return {
      extract: (source, language, signal) => count(counted.parser.extract(source, language, signal)),
      classify: (request, signal) => count(counted.parser.classify(request, signal)),
      close: () => counted.parser.close(),
    };
  }

  async #make(): Promise<Counted> {
    const { ParserPool } = await import('../lang/parser-pool.ts');
    return { parser: new ParserPool({ workers: this.#workers }), running: 0, isOld: false };
  }

  replace(): void {
    const old = this.#current;
    this.#current = undefined;
    void old?.then((counted) => {
      counted.isOld = true;
      return counted.running === 0 ? counted.parser.close() : undefined;
    });
  }

  async close(): Promise<void> {
    await (await this.#current)?.parser.close();
  }
}
