import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { ReefError } from '../../protocol/errors.ts';
import type { Language } from './contract.ts';
import { engineFile, grammarFile, type ParsedLanguage } from './grammars.ts';

/** A compiled WASM program. Worker threads that get it share its machine code. */
export interface WasmCode {
  readonly compiled: 'wasm';
}

/** The memory of a running program. It gets another buffer when it grows. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}

/** Missing in the types of Node. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (bytes: Uint8Array) => WasmCode };
};

/** For a function of this size the optimising compiler takes 40 MB. The lexer of bash, six times as large, takes 500 MB. */
const LARGEST_COMPILED_WELL = 28 * 1024;
const ANY_FUNCTION = -1;
/** More functions than any program has. */
const NO_FUNCTION = 2_000_000;

/**
 * Node first compiles WASM quickly, and optimises what runs often, which saves a third of the time of tree-sitter and a tenth of that
 * of a grammar. But some grammars have their whole lexer in one function, for which the optimising compiler needs more memory than a
 * server has. What may be optimised is decided at the first compilation, so the whole program is compiled here. The flags are those
 * of the process: call this in one thread only.
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

/** The size of the largest function in bytes of WASM. */
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

/** The code that all threads run. This thread compiles each part when it is first needed. */
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
