import { LineIndex } from '../../base/line-index.ts';
import type { Definition, FileFacts, HitClass, ImportFact, Position, SymbolKind } from './contract.ts';
import { joinPath } from './facts.ts';
import { CODE, COMMENT, type LexicalRules, lexicalMask } from './lexical-mask.ts';
import { isExported } from './visibility.ts';

/**
 * Swift by its words: no grammar loads in this engine. Keyword and name outside comments and strings, containers by
 * braces. Its facts are always `partial`.
 */
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

const KINDS: Record<string, SymbolKind> = {
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

type OpenKind = SymbolKind | 'scope' | 'code';

interface Open {
  kind: OpenKind;
  /** The container's path for what stands inside. */
  path: string;
  exported: boolean;
  signature: string;
  definition: Definition | undefined;
}

const HOLDERS: ReadonlySet<OpenKind> = new Set<OpenKind>(['class', 'struct', 'enum', 'interface', 'scope']);
const VALUES: ReadonlySet<OpenKind> = new Set<OpenKind>(['constant', 'variable']);
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
  /** Declared, its brace not yet seen. */
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
    else if (match.groups?.source !== undefined) this.#import(match.groups.source, match.index);
    else this.#declare(match);
  }

  #close(at: number): void {
    const definition = this.#open.pop()?.definition;
    this.#waiting = undefined;
    if (definition === undefined) return;
    const end = this.#lines.position(at + 1);
    definition.endLine = end.line;
    definition.endColumn = end.column;
  }

  #import(source: string, at: number): void {
    this.imports.push({ source, names: [], line: this.#lines.position(at).line });
  }

  #declare(match: RegExpExecArray): void {
    const { keyword = 'init', name = match.groups?.self ?? '' } = match.groups ?? {};
    const at = match.indices?.groups?.name?.[0] ?? match.index;
    const around = this.#open.at(-1);
    const parent = around !== undefined && HOLDERS.has(around.kind) ? around : undefined;
    const kind = kindOf(keyword, parent);
    const isValue = VALUES.has(kind);
    const inCode = around !== undefined && parent === undefined;
    const isPattern = keyword === 'case' && parent?.kind !== 'enum'; // of a switch
    this.#waiting = undefined;
    if (isPattern || (isValue && inCode)) return;
    const found = this.#describe({ name, at, kind, parent, inCode });
    if (found.definition !== undefined) this.definitions.push(found.definition);
    if (!isValue) this.#waiting = found;
    else this.#declareFurther({ after: at + name.length, keyword, kind, parent });
  }

  /** `case one, two(Int)` and `let x, y: Int` declare several. */
  #declareFurther(first: { after: number; keyword: string; kind: OpenKind; parent: Open | undefined }): void {
    const { keyword, kind, parent } = first;
    const further = keyword === 'case' ? NEXT_CASE : NEXT_VALUE;
    for (let after = first.after; ; ) {
      further.lastIndex = after;
      const { 0: whole = '', groups } = further.exec(this.code) ?? {};
      if (groups?.name === undefined) return;
      after += whole.length;
      const { definition } = this.#describe({
        name: groups.name,
        at: after - groups.name.length,
        kind,
        parent,
        inCode: false,
      });
      if (definition !== undefined) this.definitions.push(definition);
    }
  }

  #describe(fact: { name: string; at: number; kind: OpenKind; parent: Open | undefined; inCode: boolean }): Open {
    const { name, at, kind, parent, inCode } = fact;
    const { line, column } = this.#lines.position(at);
    const start = at - column;
    const end = this.#lines.lineEnd(at);
    const signature = signatureAt(this.#text, this.code, { start, at, end });
    const candidate = {
      language: 'swift' as const,
      name,
      kind: kind as SymbolKind,
      signature,
      listed: new Set<string>(),
      parent,
    };
    const exported = !inCode && isExported(candidate);
    const path = joinPath(parent?.path ?? '', name);
    const container = parent?.path === undefined || parent.path === '' ? {} : { container: parent.path };
    const range = { line, column, endLine: line, endColumn: end - start };
    if (kind === 'scope' || kind === 'code') return { kind, path, exported, signature, definition: undefined };
    return { kind, path, exported, signature, definition: { name, kind, ...range, signature, ...container, exported } };
  }
}

function kindOf(keyword: string, parent: Open | undefined): OpenKind {
  if (keyword === 'extension') return 'scope';
  const kind = KINDS[keyword] ?? 'function';
  return kind === 'function' && parent !== undefined ? 'method' : kind;
}

/** Comments and strings as spaces, so that a pattern cannot match inside them and every index stays. */
function codeOnly(text: string, mask: Uint8Array): string {
  const units = text.split('');
  return units.map((unit, at) => (mask[at] === CODE || unit === '\n' ? unit : ' ')).join('');
}

/** The line up to the brace after the name. */
function signatureAt(text: string, code: string, range: { start: number; at: number; end: number }): string {
  const { start, at, end } = range;
  const before = code.slice(start, at).search(/[^{};]*$/);
  const brace = code.slice(at, end).search(/[{}]/);
  const whole = text.slice(start + before, brace === -1 ? end : at + brace);
  return whole.trim().replace(/\s+/g, ' ').slice(0, 200);
}

/** Comment, string, or code whose role only a grammar could tell. */
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
