import { ReefError } from '../../protocol/errors.ts';
import type { Language } from './contract.ts';
import { engineFile, grammarFile } from './grammars.ts';
import { compileWasm, type WasmCode } from './wasm-code.ts';

/** What all threads run: compiled in this one, each part when it is first needed. */
export class ParserCode {
  readonly #compiled = new Map<string, WasmCode>();

  engine(): WasmCode {
    return this.#of(engineFile());
  }

  grammar(language: Language): WasmCode | undefined {
    return language === 'swift' ? undefined : this.#of(grammarFile(language));
  }

  #of(file: string): WasmCode {
    const known = this.#compiled.get(file);
    if (known !== undefined) return known;
    try {
      const code = compileWasm(file);
      this.#compiled.set(file, code);
      return code;
    } catch (error) {
      throw unavailable(error);
    }
  }
}

export function unavailable(cause: unknown): ReefError {
  return new ReefError('parser_unavailable', `The parser does not load: ${cause}`, { cause });
}
