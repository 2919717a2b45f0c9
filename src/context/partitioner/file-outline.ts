import type { FileOutline, OutlineEntry } from './answers.ts';
import type { WireResult } from './wire.ts';

type Wire = WireResult<'get_file_outline'>;

/** By kind. Modules, imports, macros and variables have no place in an outline as the seed defines it. */
export function toFileOutline({ symbols, basis }: Wire): FileOutline {
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
    ...(basis && { basis }),
  };
}

export function toEntry({ name, symbol_type, line, signature, container }: Wire['symbols'][number]): OutlineEntry {
  return { name, kind: symbol_type, line, signature, ...(container !== undefined && { container }) };
}
