import { LineIndex } from '../../base/line-index.ts';
import type { SymbolType } from '../../protocol/code.ts';
import type { Definition, FileFacts, HitClass, ImportFact, Position } from './contract.ts';
import { joinPath } from './facts.ts';
import { CODE, COMMENT, type LexicalRules, lexicalMask } from './lexical-mask.ts';
import { isExported } from './visibility.ts';

/** Reads Swift by keywords, names and braces, as no grammar of it loads in this engine. Its facts are always `partial`. */
const RULES: LexicalRules = {
  lineComments: ['//'],
  blockComments: [{ open: '/*', close: '*/', nests: true }],
  strings: [stringRule(/#+"""/y, true), stringRule(/#+"/y, false), stringRule(/"""/y, true), stringRule(/"/y, false)],
};

function stringRule(open: RegExp, multiline: boolean): LexicalRules['strings'][number] {
  const hashes = (opening: string) => /^#*/.exec(opening)?.[0] ?? '';
  return {
    open,
    multiline,
    close: (opening) => opening.replace(/^#*/, '') + hashes(opening),
    interpolation: (opening) => `\\${hashes(opening)}(`,
    ...(open.source.startsWith('#') ? {} : { escape: '\\' }),
  };
}

const KINDS: Record<string, SymbolType> = {
  class: 'class',
  actor: 'class',
  struct: 'struct',
  enum: 'enum',
  protocol: 'interface',
  typealias: 'type',
  associatedtype: 'type',
  func: 'function',
  init: 'function',
  subscript: 'function',
  let: 'constant',
  var: 'variable',
  case: 'constant',
  macro: 'macro',
};

const KEYWORDS = [...Object.keys(KINDS), 'extension', 'import'].join('|');
const DECLARATION = new RegExp(
  [
    String.raw`(?<![.\w])(?<keyword>class|actor|struct|enum|protocol|extension|typealias|associatedtype|func|let|var|case|macro)\s+` +
      String.raw`(?!(?:${KEYWORDS})\b)` +
      '`?' +
      String.raw`(?<name>[\p{L}_][\p{L}\p{N}_.]*|[-+*/%=<>!&|^~?]+)`,
    String.raw`(?<![.\w])(?<self>(?:init|subscript)\b(?=\s*[?!]?\s*[<(])|deinit\b(?=\s*\{))`,
    String.raw`(?<![.\w])import\s+(?:(?:class|struct|enum|func|protocol|var|let|typealias)\s+)?(?<source>[\w.]+)`,
    '[{}]',
  ].join('|'),
  'gdu',
);

const NEXT_CASE =
  /\s{0,99}(?:\([^\n{}]{0,400}?\))?[ \t]{0,99}(?:=[^,\n(){}]{0,400})?,\s{0,99}(?<name>[\p{L}_][\p{L}\p{N}_]*)/uy;
const NEXT_VALUE = /\s{0,99},\s{0,99}(?<name>[\p{L}_][\p{L}\p{N}_]*)/uy;

type OpenKind = SymbolType | 'scope' | 'code';

interface Declared {
  name: string;
  at: number;
  kind: SymbolType | 'scope';
  parent: Open | undefined;
  inCode: boolean;
}

interface Open {
  kind: OpenKind;
  /** The path of the container for what is inside. */
  path: string;
  exported: boolean;
  signature: string;
  definition: Definition | undefined;
}

const HOLDERS: ReadonlySet<OpenKind> = new Set<OpenKind>(['class', 'struct', 'enum', 'interface', 'scope']);
const CODE_BLOCK: Open = { kind: 'code', path: '', exported: false, signature: '', definition: undefined };

export function scanSwift(text: string): FileFacts {
  const scan = new SwiftScan(text);
  for (const match of scan.code.matchAll(DECLARATION)) scan.step(match);
  return { definitions: scan.definitions, imports: scan.imports, partial: true };
}

class SwiftScan {
  readonly code: string;
  readonly definitions: Definition[] = [];
  readonly imports: ImportFact[] = [];
  readonly #text: string;
  readonly #lines: LineIndex;
  readonly #open: Open[] = [];
  /** A declaration whose brace has not come yet. */
  #waiting: Open | undefined;

  constructor(text: string) {
    this.#text = text;
    this.code = codeOnly(text, lexicalMask(text, RULES));
    this.#lines = new LineIndex(text);
  }

  step(match: RegExpExecArray): void {
    if (match[0] === '{') {
      this.#open.push(this.#waiting ?? CODE_BLOCK);
      this.#waiting = undefined;
    } else if (match[0] === '}') this.#close(match.index);
    else if (match.groups?.source !== undefined) {
      const { line } = this.#lines.position(match.index);
      this.imports.push({ source: match.groups.source, names: [], line });
    } else this.#declare(match);
  }

  #close(at: number): void {
    const definition = this.#open.pop()?.definition;
    this.#waiting = undefined;
    if (definition === undefined) return;
    const end = this.#lines.position(at + 1);
    definition.endLine = end.line;
    definition.endColumn = end.column;
  }

  #declare(match: RegExpExecArray): void {
    const { keyword = 'init', name = match.groups?.self ?? '' } = match.groups ?? {};
    const at = match.indices?.groups?.name?.[0] ?? match.index;
    const around = this.#open.at(-1);
    const parent = around !== undefined && HOLDERS.has(around.kind) ? around : undefined;
    const kind = kindOf(keyword, parent);
    const isValue = kind === 'constant' || kind === 'variable';
    const inCode = around !== undefined && parent === undefined;
    const isPattern = keyword === 'case' && parent?.kind !== 'enum'; // of a switch
    this.#waiting = undefined;
    if (isPattern || (isValue && inCode)) return;
    const declared = { name, at, kind, parent, inCode };
    const found = this.#add(declared);
    if (isValue) this.#addFurther(declared, keyword === 'case' ? NEXT_CASE : NEXT_VALUE);
    else this.#waiting = found;
  }

  /** `case one, two(Int)` and `let x, y: Int` declare several. */
  #addFurther(first: Declared, further: RegExp): void {
    for (let after = first.at + first.name.length; ; ) {
      further.lastIndex = after;
      const { 0: whole = '', groups } = further.exec(this.code) ?? {};
      if (groups?.name === undefined) return;
      after += whole.length;
      this.#add({ ...first, name: groups.name, at: after - groups.name.length });
    }
  }

  #add(declared: Declared): Open {
    const { name, at, kind, parent, inCode } = declared;
    const { line, column } = this.#lines.position(at);
    const start = at - column;
    const end = this.#lines.lineEnd(at);
    const signature = signatureAt(this.#text, this.code, { start, at, end });
    const exported = !inCode && isExported({ language: 'swift', name, kind, signature, listed: new Set(), parent });
    const open: Open = { kind, path: joinPath(parent?.path ?? '', name), exported, signature, definition: undefined };
    if (kind === 'scope') return open;
    const container = parent?.path ? { container: parent.path } : {};
    const range = { line, column, endLine: line, endColumn: end - start };
    const definition = { name, kind, ...range, signature, ...container, exported };
    this.definitions.push(definition);
    return { ...open, definition };
  }
}

function kindOf(keyword: string, parent: Open | undefined): Declared['kind'] {
  if (keyword === 'extension') return 'scope';
  const kind = KINDS[keyword] ?? 'function';
  return kind === 'function' && parent !== undefined ? 'method' : kind;
}

/** Comments and strings become spaces: no pattern matches inside them, and every index stays the same. */
function codeOnly(text: string, mask: Uint8Array): string {
  const units = text.split('');
  return units.map((unit, at) => (mask[at] === CODE || unit === '\n' ? unit : ' ')).join('');
}

function signatureAt(text: string, code: string, range: { start: number; at: number; end: number }): string {
  const { start, at, end } = range;
  const before = code.slice(start, at).search(/[^{};]*$/);
  const brace = code.slice(at, end).search(/[{}]/);
  const whole = text.slice(start + before, brace === -1 ? end : at + brace);
  return whole.trim().replace(/\s+/g, ' ').slice(0, 200);
}

/** A comment, a string, a definition, or code whose role only a grammar could tell. */
export function classifySwift(text: string, hits: readonly Position[]): HitClass[] {
  const mask = lexicalMask(text, RULES);
  const lines = new LineIndex(text);
  const names = new Set(scanSwift(text).definitions.map(({ line, column }) => `${line}:${column}`));
  return hits.map((hit) => {
    const kind = mask[lines.index(hit)] ?? CODE;
    if (kind !== CODE) return { kind: kind === COMMENT ? 'comment' : 'string' };
    return { kind: names.has(`${hit.line}:${hit.column}`) ? 'definition' : 'usage' };
  });
}
