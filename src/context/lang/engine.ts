import { readFileSync } from 'node:fs';
import { Language as Grammar, Parser, Query, type Tree } from 'web-tree-sitter';
import { DefinitionsQuery } from './definitions-query.ts';
import { engineFile, grammarFile, type ParsedLanguage, queryFile, splitQuery } from './grammars.ts';
import { type IsLate, ThreadClock } from './time-bound.ts';
import { compileWasm, type WasmCode, type WasmMemory } from './wasm-code.ts';

export interface LoadedLanguage {
  grammar: Grammar;
  definitions: DefinitionsQuery;
  /** Only questions need it, and to compile it takes as long as the other. */
  locals(): Query;
}

/** 128 MiB of 64 KiB each: what needs more to be parsed would take the server over its ceiling, and is a crash of its own. */
const MAX_PAGES = 2_048;

/** Node has it, its types do not. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: {
    Memory: new (pages: { initial: number; maximum: number }) => WasmMemory;
    Instance: new (code: WasmCode, imports: object) => object;
  };
};

interface WasmImports {
  env: Record<string, unknown>;
}

/** tree-sitter in this thread: one parser, grammars loaded when first needed, and the memory they share. */
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
    // Ours, so that its size can be read: it grows and never shrinks.
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

  /** A worker is given the code: only one thread may compile. */
  load(language: ParsedLanguage, code?: WasmCode): LoadedLanguage {
    const known = this.#loaded.get(language);
    if (known !== undefined) return known;
    const grammar = Grammar.loadSync(code ?? compileWasm(grammarFile(language)));
    const { definitions, locals } = splitQuery(readFileSync(queryFile(language), 'utf8'));
    let compiled: Query | undefined;
    const loaded = {
      grammar,
      definitions: new DefinitionsQuery(grammar, definitions, this.#memory),
      locals: () => {
        compiled ??= new Query(grammar, locals);
        return compiled;
      },
    };
    this.#loaded.set(language, loaded);
    return loaded;
  }

  /** The caller deletes the tree. `undefined`: it took too long. */
  parse(text: string, language: LoadedLanguage, isLate: IsLate): Tree | undefined {
    this.#parser.setLanguage(language.grammar);
    this.#text.take(text);
    const tree = this.#parser.parse(text, null, { progressCallback: isLate });
    if (tree !== null) return tree;
    this.#parser.reset(); // else the next parse would go on where this one stopped
    return undefined;
  }
}

/** tree-sitter's buffer for a piece of text, in UTF-16 units; one of them is a zero at the end. */
const PIECE_UNITS = 5 * 1024 - 1;
const UNIT = 2;
const SMALLEST = 64 * 1024;

/**
 * The text that is parsed, from which tree-sitter fetches piece after piece. Its own binding copies letter by letter, which
 * takes a twentieth of the time of a parse.
 */
export class ParsedText {
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

  /** Called by WASM with row and column, too: the text from this unit on, and how much of it there is. */
  readonly give = (address: number, from: number, ...[, , lengthAddress = 0]: number[]): void => {
    const left = Math.max(this.#length - from, 0);
    const { buffer } = this.#memory;
    new DataView(buffer).setInt32(lengthAddress, left, true);
    const until = (from + Math.min(left, PIECE_UNITS)) * UNIT;
    if (left > 0) new Uint8Array(buffer, address).set(this.#units.subarray(from * UNIT, until));
  };
}
