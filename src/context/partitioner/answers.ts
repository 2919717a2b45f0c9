import type { Basis, CodeReference, CodeToolResult } from '../../protocol/code.ts';

/** Two questions have arguments and answers of their own. Every other question has the form of its tool. */

export interface GetFileOutlineArgs {
  worktreePath: string;
  filePath: string;
  /** Waits for a complete answer. */
  require?: 'complete' | undefined;
}
export interface GetSymbolReferencesArgs {
  worktreePath: string;
  symbolName: string;
  /** All references by default. */
  limit?: number | undefined;
  require?: 'complete' | undefined;
}

export type FileOutline = ReturnType<typeof toFileOutline>;
export type SymbolReference = ReturnType<typeof toReference>;

/** A list with its basis. The basis is not enumerable, so the list equals a plain one. */
export type Listed<T> = T[] & { readonly basis: Basis };

export function listed<T>(items: T[], basis: Basis): Listed<T> {
  return Object.defineProperty(items, 'basis', { value: basis }) as Listed<T>;
}

/** Groups symbols by kind. This outline has no place for modules, imports, macros and variables. */
export function toFileOutline({ symbols, basis }: CodeToolResult<'get_file_outline'>) {
  const of = (...kinds: string[]) =>
    symbols
      .filter(({ symbol_type }) => kinds.includes(symbol_type))
      .map((symbol) => ({ ...symbol, line: symbol.line ?? 0 }));
  return {
    functions: of('function').map(({ name, signature, line }) => ({ name, signature, line })),
    classes: of('class', 'struct').map(({ name, line }) => ({ name, line })),
    methods: of('method').map(({ name, signature, line, container }) => ({
      name,
      signature,
      line,
      ...(container !== undefined && { container }),
    })),
    types: of('interface', 'enum', 'type').map(({ name, symbol_type, line }) => ({ name, kind: symbol_type, line })),
    constants: of('constant').map(({ name, line }) => ({ name, line })),
    basis,
  };
}

export function toReference({ location, reference_type, confidence, line_text }: CodeReference) {
  const { file: filePath, start_line: line, start_column: column } = location;
  return { filePath, line, column, kind: reference_type, confidence, lineText: line_text };
}
