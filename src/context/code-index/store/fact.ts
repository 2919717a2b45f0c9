import type { Oid } from '../../../git/ref-name.ts';
import type { Definition, FileFacts, ImportFact, SymbolKind } from '../../lang/contract.ts';

export type Stage = 1 | 2;

/** `ok` and `partial` carry data; the others say why there is none, which is a fact too (C-015). */
export type FactStatus = 'ok' | 'partial' | 'binary' | 'too_large' | 'long_line' | 'timeout' | 'crash';

export interface FactKey {
  oid: Oid;
  /** Empty for words, which belong to no language. */
  lang: string;
  stage: Stage;
}

export interface Fact extends FactKey {
  extractor: string;
  status: FactStatus;
  data: Uint8Array;
  bytes: number;
  lines: number;
  symbols: readonly SymbolFact[];
}

export interface SymbolFact {
  name: string;
  kind: SymbolKind;
  line: number;
  column: number;
}

type PackedDefinition = [string, string, number, number, number, number, string, string, number];
type PackedImport = [string, number, ...string[][]];

/** Arrays in place of objects: half the bytes, and quicker to read back. */
export function packFacts({ definitions, imports, partial }: FileFacts): Uint8Array {
  const packed = [
    definitions.map(
      (each): PackedDefinition => [
        each.name,
        each.kind,
        each.line,
        each.column,
        each.endLine,
        each.endColumn,
        each.signature,
        each.container ?? '',
        each.exported ? 1 : 0,
      ],
    ),
    imports.map(
      ({ source, line, names }): PackedImport => [
        source,
        line,
        ...names.map(({ name, alias }) => (alias === undefined ? [name] : [name, alias])),
      ],
    ),
    partial ? 1 : 0,
  ];
  return Buffer.from(JSON.stringify(packed), 'utf8');
}

/** Undefined for what is not of our making: it is extracted again rather than believed. */
export function unpackFacts(data: Uint8Array): FileFacts | undefined {
  const parsed: unknown = parseJson(Buffer.from(data).toString('utf8'));
  if (!Array.isArray(parsed) || !Array.isArray(parsed[0]) || !Array.isArray(parsed[1])) return undefined;
  const [definitions, imports, partial] = parsed as [PackedDefinition[], PackedImport[], number];
  return { definitions: definitions.map(toDefinition), imports: imports.map(toImport), partial: partial === 1 };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toDefinition(packed: PackedDefinition): Definition {
  const [name, kind, line, column, endLine, endColumn, signature, container, exported] = packed;
  const found = {
    name,
    kind: kind as SymbolKind,
    line,
    column,
    endLine,
    endColumn,
    signature,
    exported: exported === 1,
  };
  return container === '' ? found : { ...found, container };
}

function toImport([source, line, ...names]: PackedImport): ImportFact {
  const toName = ([name = '', alias]: string[]) => (alias === undefined ? { name } : { name, alias });
  return { source, line, names: names.map(toName) };
}
