import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { engineFile } from './grammars.ts';

/** tree-sitter itself, compiled. It may be handed to worker threads, which then share its machine code. */
export interface EngineCode {
  readonly compiled: 'wasm';
}

/** Node has it, its types do not. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Module: new (bytes: Uint8Array) => EngineCode };
};

/** No module has so many functions. */
const NO_FUNCTION = 2_000_000;

/**
 * Node compiles WASM quickly first, and well where it runs often: tree-sitter then takes two thirds of the time. But of a grammar
 * what runs often is one function with all its lexer in it, for which the good compiler takes up to 700 MB, whatever the ceiling,
 * and gains nothing. Which functions may be compiled well is decided when they are compiled quickly: so tree-sitter is, wholly,
 * here, and no grammar that is loaded later.
 */
export function compileEngine(): EngineCode {
  const bytes = readFileSync(engineFile());
  setFlagsFromString('--wasm-tier-up-filter=-1');
  setFlagsFromString('--no-wasm-lazy-compilation');
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    setFlagsFromString('--wasm-lazy-compilation');
    setFlagsFromString(`--wasm-tier-up-filter=${NO_FUNCTION}`);
  }
}
