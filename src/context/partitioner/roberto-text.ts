/**
 * The outlines of roberto-mcp 0.2.1, which are text (C-095). Of a file:
 *
 *     Classes:
 *       ├─ Cart (3:0) pub
 *
 *     Functions:
 *       ├─ export function total(cart: Cart): number { (12:7) pub
 *
 * A function shows the line it begins in, cut to 77 characters and `...`; everything else its name. The order is by chance.
 */

const GROUP = /^(Classes|Functions|Constants|Enums|Interfaces|Modules|Imports|Variables):$/;
const ENTRY = /^\s*├─ (.*) \((\d+):(\d+)\)(?: (?:pub|priv|prot|int))?\s*$/;

const KINDS: Readonly<Record<string, string>> = {
  Classes: 'class',
  Functions: 'function',
  Constants: 'constant',
  Enums: 'enum',
  Interfaces: 'interface',
  Modules: 'module',
  Imports: 'import',
  Variables: 'variable',
};

interface TextSymbol {
  name: string;
  symbol_type: string;
  line: number | null;
  /** Where in the line it begins, in bytes. */
  column?: number;
  signature: string;
}

/** Undefined when it is no outline. */
export function parseOutlineText(text: string): { symbols: TextSymbol[] } | undefined {
  const symbols: TextSymbol[] = [];
  let kind: string | undefined;
  for (const line of text.split('\n')) {
    const [, group] = GROUP.exec(line) ?? [];
    const [, shown, at, column] = ENTRY.exec(line) ?? [];
    if (group !== undefined) kind = KINDS[group];
    else if (kind !== undefined && shown !== undefined) {
      symbols.push({ name: shown, symbol_type: kind, line: Number(at), column: Number(column), signature: shown });
    } else if (line.trim() !== '') return undefined;
  }
  return kind === undefined ? undefined : { symbols };
}

const DIRECTORY = /^Directory: .* \(\d+ files\)$/;
const FILE = /^📁 (.+)$/u;
const MEMBER = /^\s*🏗️? (.+) \((\w+)\)$/u;
const SUMMARY = /^(Summary: .+)$/;

interface TextDirectory {
  files: { file_path: string; symbols: TextSymbol[] }[];
  summary: string;
}

/** File names are relative to the directory that was asked for. */
export function parseDirectoryText(text: string): TextDirectory | undefined {
  const [first = '', ...lines] = text.split('\n');
  if (!DIRECTORY.test(first)) return undefined;
  const found: TextDirectory = { files: [], summary: '' };
  for (const line of lines) {
    const [, file] = FILE.exec(line) ?? [];
    const [, name, group = ''] = MEMBER.exec(line) ?? [];
    const [, summary] = SUMMARY.exec(line) ?? [];
    if (file !== undefined) found.files.push({ file_path: file, symbols: [] });
    else if (name !== undefined) found.files.at(-1)?.symbols.push(member(name, group));
    else if (summary !== undefined) found.summary = summary;
    else if (line.trim() !== '') return undefined;
  }
  return found;
}

function member(name: string, group: string): TextSymbol {
  const kind = KINDS[`${group.charAt(0).toUpperCase()}${group.slice(1)}`] ?? group;
  return { name, symbol_type: kind, line: null, signature: name };
}
