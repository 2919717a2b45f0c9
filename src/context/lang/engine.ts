import { readFileSync } from 'node:fs';
import { Language as Grammar, Parser, Query, type Tree } from 'web-tree-sitter';
import { onFirstUse } from '../../base/lazily.ts';
import { DefinitionsQuery } from './definitions-query.ts';
import { engineFile, grammarFile, type ParsedLanguage, queryFile, splitQuery } from './grammars.ts';
import { type IsLate, ThreadClock } from './time-bound.ts';
import { compileWasm, type WasmCode, type WasmMemory } from './wasm-code.ts';

export interface LoadedLanguage {
  grammar: Grammar;
  definitions: DefinitionsQuery;
  /** Compiled at the first use: only questions need it, and it takes as long as the definitions. */
  locals(): Query;
}

/** 128 MiB in pages of 64 KiB. A file that needs more would take the server over its ceiling, and counts as a crash. */
const MAX_PAGES = 2_048;

/** Missing in the types of Node. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Memory: new (pages: { initial: number; maximum: number }) => WasmMemory;
    Instance: new (code: WasmCode, imports: object) => object;
  };
};

interface WasmImports {
  env: Record<string, unknown>;
}

/** tree-sitter in this thread: one parser, the grammars loaded so far, and the memory they share. */
export class Engine {
  readonly clock = new ThreadClock();
  readonly #parser: Parser;
  readonly #memory: WasmMemory;
  readonly #text: ParsedText;
  readonly #loaded = new Map<ParsedLanguage, LoadedLanguage>();

  private constructor(parser: Parser, memory: WasmMemory, text: ParsedText) {
    this.#parser = parser;
    this.#memory = memory;
    this.#text = text;
  }

  static async start(code = compileWasm(engineFile())): Promise<Engine> {
    // Our own memory, so that its size can be read. It never shrinks.
    const memory = new WebAssembly.Memory({ initial: 512, maximum: MAX_PAGES });
    const text = new ParsedText(memory);
    const instantiateWasm = ({ env, ...others }: WasmImports, receive: (instance: object, code: WasmCode) => void) => {
      const imports = { ...others, env: { ...env, tree_sitter_parse_callback: text.give } };
      receive(new WebAssembly.Instance(code, imports), code);
    };
    await Parser.init({ wasmMemory: memory, instantiateWasm, locateFile: engineFile });
    return new Engine(new Parser(), memory, text);
  }

  memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** A worker is given the code, because only one thread may compile. */
  load(language: ParsedLanguage, code?: WasmCode): LoadedLanguage {
    const known = this.#loaded.get(language);
    if (known !== undefined) return known;
    const grammar = Grammar.loadSync(code ?? compileWasm(grammarFile(language)));
    const { definitions, locals } = splitQuery(readFileSync(queryFile(language), 'utf8'));
    const loaded = {
      grammar,
      definitions: new DefinitionsQuery(grammar, definitions, this.#memory),
      locals: onFirstUse(() => new Query(grammar, locals)),
    };
    this.#loaded.set(language, loaded);
    return loaded;
  }

  /** The caller deletes the tree. Undefined when it took too long. */
  parse(text: string, language: LoadedLanguage, isLate: IsLate): Tree | undefined {
    this.#parser.setLanguage(language.grammar);
    this.#text.take(text);
    const tree = this.#parser.parse(text, null, { progressCallback: isLate });
    if (tree !== null) return tree;
    this.#parser.reset(); // else the next parse would continue this one
    return undefined;
  }
}

/** The buffer of tree-sitter for a piece of text, in UTF-16 units without the zero at its end. */
const PIECE_UNITS = 5 * 1024 - 1;
const UNIT = 2;
const SMALLEST = 64 * 1024;

/** The text to be parsed, fetched in pieces. The binding's own copy, letter by letter, takes a twentieth of a parse. */
class ParsedText {
  readonly #memory: WasmMemory;
  #units = Buffer.alloc(SMALLEST);
  #length = 0;

  constructor(memory: WasmMemory) {
    this.#memory = memory;
  }

  take(text: string): void {
    this.#length = text.length;
    if (this.#units.length < text.length * UNIT) this.#units = Buffer.alloc(text.length * UNIT * 2);
    this.#units.write(text, 'utf16le');
  }

  /** Called by WASM: writes the text from this unit on and its length. Row and column are not used. */
  readonly give = (address: number, from: number, ...[, , lengthAddress = 0]: number[]): void => {
    const left = Math.max(this.#length - from, 0);
    const { buffer } = this.#memory;
    new DataView(buffer).setInt32(lengthAddress, left, true);
    const until = (from + Math.min(left, PIECE_UNITS)) * UNIT;
    if (left > 0) new Uint8Array(buffer, address).set(this.#units.subarray(from * UNIT, until));
  };
}
