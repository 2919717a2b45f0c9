import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { ReefError } from '../../protocol/errors.ts';
import type { Language } from './contract.ts';
import { engineFile, grammarFile, type ParsedLanguage } from './grammars.ts';

/** A WASM program, compiled. It may be handed to worker threads, which then share its machine code. */
export interface WasmCode {
  readonly compiled: 'wasm';
}

/** What a running one works in. Its buffer is another after it has grown. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** Node has it, its types do not. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (bytes: Uint8Array) => WasmCode };
};

/** Of such a function the good compiler takes some 40 MB; of the lexer of bash, six times as large, 500. */
const LARGEST_COMPILED_WELL = 28 * 1024;
const ANY_FUNCTION = -1;
/** No program has so many functions. */
const NO_FUNCTION = 2_000_000;

/**
 * Node compiles WASM quickly first, and well where it runs often, which is worth a third of tree-sitter's time and a tenth of a
 * grammar's. But some grammars are one function with all their lexer in it, for which the good compiler takes more memory than a
 * server has. Which functions may be compiled well is decided when they are compiled quickly: so a program is, wholly, here.
 * The flags are those of the process: to be called in one thread only.
 */
export function compileWasm(file: string): WasmCode {
  const bytes = readFileSync(file);
  setTierUpOf(largestFunction(bytes) <= LARGEST_COMPILED_WELL ? ANY_FUNCTION : NO_FUNCTION);
  setFlagsFromString('--no-wasm-lazy-compilation');
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    setFlagsFromString('--wasm-lazy-compilation');
    setTierUpOf(NO_FUNCTION);
  }
}

function setTierUpOf(functions: number): void {
  setFlagsFromString(`--wasm-tier-up-filter=${functions}`);
}

const HEADER_BYTES = 8;
const CODE_SECTION = 10;

/** In bytes of WASM. */
export function largestFunction(bytes: Uint8Array): number {
  let at = HEADER_BYTES;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const section = bytes[at++];
    const end = number() + at;
    if (section !== CODE_SECTION) {
      at = end;
      continue;
    }
    let largest = 0;
    for (let count = number(); count > 0; count--) {
      const size = number();
      largest = Math.max(largest, size);
      at += size;
    }
    return largest;
  }
  return 0;
}

/** What all threads run: compiled in this one, each part when it is first needed. */
export class ParserCode {
  readonly #compiled = new Map<ParsedLanguage | 'engine', WasmCode>();

  engine(): WasmCode {
    return this.#of('engine');
  }

  grammar(language: Language): WasmCode | undefined {
    return language === 'swift' ? undefined : this.#of(language);
  }

  #of(part: ParsedLanguage | 'engine'): WasmCode {
    const known = this.#compiled.get(part);
    if (known !== undefined) return known;
    try {
      const code = compileWasm(part === 'engine' ? engineFile() : grammarFile(part));
      this.#compiled.set(part, code);
      return code;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

export function unavailable(cause: unknown): ReefError {
  return new ReefError('parser_unavailable', `The parser does not load: ${cause}`, { cause });
}
