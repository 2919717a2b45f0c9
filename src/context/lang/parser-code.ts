import { ReefError } from '../../protocol/errors.ts';
import type { Language } from './contract.ts';
import { engineFile, grammarFile, type ParsedLanguage } from './grammars.ts';
import { compileWasm, type WasmCode } from './wasm-code.ts';

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
