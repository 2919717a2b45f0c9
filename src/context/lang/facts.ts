import type { Node, QueryMatch } from 'web-tree-sitter';
import { withoutEnd } from '../../base/without-end.ts';
import type { SymbolType } from '../../protocol/code.ts';
import type { Definition, FileFacts, ImportFact, Language, Position } from './contract.ts';
import type { DefinitionsQuery, QueriedTree } from './definitions-query.ts';
import { resolveName } from './resolve-name.ts';
import { isExported } from './visibility.ts';

/**
 * What a query calls the node it captures beside `@name`: a type of symbol, `scope` (a container that is no definition itself, such
 * as an impl block or a category), or `declaration` (in C a function if it is a prototype, else a variable).
 */
type EntryKind = Exclude<SymbolType, 'import'> | 'scope' | 'declaration';

interface Entry {
  kind: EntryKind;
  name: string;
  nameNode: Node;
  node: Node;
  /** The end of the node, kept because every read of it calls WASM. */
  end: number;
  pattern: number;
  /** A prefix of the name: a receiver, `A::`, `A.prototype.` */
  qualifier: string | undefined;
}

interface Placed {
  entry: Entry;
  kind: EntryKind;
  path: string;
  signature: string;
  exported: boolean;
  /** It is a function or lies inside one. */
  inFunction: boolean;
}

const MAX_PATH = 200;
const MEMBER_HOLDERS: ReadonlySet<EntryKind> = new Set<EntryKind>(['class', 'interface', 'struct', 'enum', 'scope']);

const MAX_DEFINITIONS = 30_000;

/** Facts that are read too late are not complete: the caller drops them. */
interface FactSource extends QueriedTree {
  language: Language;
  query: DefinitionsQuery;
}

export function readFacts(source: FactSource): FileFacts {
  const found = collect(source);
  const definitions = place(found.entries, { ...source, listed: found.listed });
  return { definitions, imports: found.imports, partial: found.isCut || source.root.hasError };
}

interface Reading {
  byName: Map<number, Entry>;
  imports: Map<number, ImportFact>;
  /** Names in an export list: `export { a }`, `module.exports = { a }`. */
  listed: Set<string>;
  text: string;
}

function collect({ query, ...tree }: FactSource) {
  const reading: Reading = { byName: new Map(), imports: new Map(), listed: new Set(), text: tree.text };
  const { byName, imports, listed } = reading;
  const isFull = () => byName.size + imports.size >= MAX_DEFINITIONS;
  query.each(tree, (match) => {
    if (!isFull()) readMatch(match, reading);
  });
  const isCut = isFull() || query.isCut;
  return { entries: [...byName.values()], imports: [...imports.values()], listed, isCut };
}

function readMatch(match: QueryMatch, { byName, imports, listed, text }: Reading): void {
  const nodes: Record<string, Node> = {};
  for (const { name, node } of match.captures) nodes[name] = node;
  if (nodes.import !== undefined) addImport(imports, { nodes, text, taken: match.setProperties?.taken ?? '*' });
  else if (nodes.export !== undefined) listed.add(slice(text, nodes.export));
  else addEntry(byName, match, text);
}

/** Not a part of the definition, and not a helper of a predicate, such as `@_exports`. */
function isKind(capture: string): boolean {
  return capture !== 'name' && capture !== 'container' && !capture.startsWith('_');
}

/** If several patterns capture a name, the first one in the query file counts. */
function addEntry(byName: Map<number, Entry>, match: QueryMatch, text: string): void {
  const captured = match.captures.findLast(({ name }) => name === 'name');
  const whole = match.captures.find(({ name }) => isKind(name));
  if (captured === undefined || whole === undefined) return;
  const { nameNode, type, qualifier, isFunction } = resolveName(captured.node, text);
  const earlier = byName.get(nameNode.startIndex);
  if (earlier !== undefined && earlier.pattern <= match.patternIndex) return;
  const receiver = match.captures.find(({ name }) => name === 'container');
  const kind = whole.name === 'declaration' ? (isFunction ? 'function' : 'variable') : (whole.name as EntryKind);
  byName.set(nameNode.startIndex, {
    kind,
    name: type === 'operator_cast' ? castName(text, nameNode) : slice(text, nameNode),
    nameNode,
    node: whole.node,
    end: whole.node.endIndex,
    pattern: match.patternIndex,
    qualifier: receiver === undefined ? qualifier : slice(text, receiver.node),
  });
}

interface ImportMatch {
  nodes: Record<string, Node>;
  text: string;
  /** What an alias without a name stands for: `*`, or what the query sets. */
  taken: string;
}

function addImport(imports: Map<number, ImportFact>, { nodes, text, taken }: ImportMatch): void {
  const { source, taken: name, alias } = nodes;
  if (source === undefined) return;
  // One statement may name several sources (Python's `import a, b`, Go's import block).
  const fact = imports.get(source.startIndex) ?? {
    source: sourceName(slice(text, source)),
    names: [],
    line: source.startPosition.row + 1,
  };
  imports.set(source.startIndex, fact);
  const isWildcard = /^\s*\.\s*\*/.test(text.slice(source.endIndex, source.endIndex + 8));
  if (isWildcard || (name === undefined && alias === undefined)) return;
  const written = name === undefined ? taken : slice(text, name);
  const taking = { name: written, ...(alias !== undefined && { alias: slice(text, alias) }) };
  if (!fact.names.some((known) => known.name === taking.name && known.alias === taking.alias)) fact.names.push(taking);
}

/** Without what stands around it, and without a list or wildcard behind it. */
function sourceName(written: string): string {
  const bare = written.replace(/^(?:import\s+|[<"'`]+)/, '');
  const list = bare.search(/\.[{_*]/);
  return list < 0 ? withoutEnd(bare, '>"\'`') : bare.slice(0, list);
}

interface Setting {
  text: string;
  language: Language;
  listed: ReadonlySet<string>;
}

/** Finds the nesting by range: entries in order of their start, with the open ones on a stack. */
function place(entries: Entry[], setting: Setting): Definition[] {
  const ordered = entries.sort((a, b) => a.node.startIndex - b.node.startIndex || b.end - a.end);
  const open: Placed[] = [];
  const definitions: Definition[] = [];
  for (const entry of ordered) {
    while (hasEnded(open.at(-1), entry)) open.pop();
    const placed = placeOne(entry, open.at(-1), setting);
    if (placed === undefined) continue;
    open.push(placed);
    if (placed.kind !== 'scope') definitions.push(toDefinition(placed, setting.text));
  }
  return definitions.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** `int a, b;` is one node with two names: neither contains the other. */
function hasEnded(last: Placed | undefined, next: Entry): boolean {
  if (last === undefined) return false;
  return last.entry.end <= next.node.startIndex || last.entry.node.id === next.node.id;
}

function placeOne(entry: Entry, parent: Placed | undefined, setting: Setting): Placed | undefined {
  const isInside = parent?.inFunction ?? false;
  const isLocalValue = isInside && (entry.kind === 'variable' || entry.kind === 'constant');
  if (isLocalValue) return undefined;
  const kind = kindOf(entry, parent);
  const container = joinPath(containerPath(parent, kind), entry.qualifier ?? '');
  const signature = signatureOf(setting.text, entry);
  const fact = { language: setting.language, name: entry.name, kind, signature, listed: setting.listed };
  const exported = !isInside && isExported({ ...fact, parent });
  const inFunction = isInside || kind === 'function' || kind === 'method';
  return { entry, kind, path: container, signature, exported, inFunction };
}

function kindOf(entry: Entry, parent: Placed | undefined): EntryKind {
  const isMember = entry.qualifier !== undefined || (parent !== undefined && MEMBER_HOLDERS.has(parent.kind));
  return entry.kind === 'function' && isMember ? 'method' : entry.kind;
}

/** At a depth of ten thousand, whole paths would take hundreds of megabytes. */
export function joinPath(outer: string, inner: string): string {
  const path = outer === '' || inner === '' ? outer + inner : `${outer}.${inner}`;
  return path.length <= MAX_PATH ? path : `…${path.slice(1 - MAX_PATH)}`;
}

/** A value contains only methods (`const api = { get() {} }`). */
function containerPath(parent: Placed | undefined, kind: EntryKind): string {
  if (parent === undefined || parent.kind === 'function' || parent.kind === 'method') return '';
  const isValue = parent.kind === 'variable' || parent.kind === 'constant';
  // `typedef struct node {…} node_t`: the struct is no member of its alias, but the fields of a nameless struct are.
  const isAliased = parent.kind === 'type' && MEMBER_HOLDERS.has(kind);
  if ((isValue && kind !== 'method') || isAliased) return parent.path;
  return joinPath(parent.path, parent.entry.name.replaceAll(/::|\\/g, '.'));
}

function toDefinition({ entry, kind, path, signature, exported }: Placed, text: string): Definition {
  const { row, column } = entry.nameNode.startPosition;
  const end = endOf(entry, text);
  return {
    name: entry.name,
    kind: kind as SymbolType,
    line: row + 1,
    column,
    endLine: end.line,
    endColumn: end.column,
    signature,
    ...(path !== '' && { container: path }),
    exported,
  };
}

/** The node of a preprocessor line includes its newline, but the definition ends before it. */
function endOf({ node, end }: Entry, text: string): Position {
  const { row, column } = node.endPosition;
  if (column > 0) return { line: row + 1, column };
  const lineEnd = Math.max(end - 1, 0);
  return { line: row, column: lineEnd - (text.lastIndexOf('\n', lineEnd - 1) + 1) };
}

/** `operator bool() const` is named `operator bool`. */
function castName(text: string, node: Node): string {
  return (slice(text, node).split('(', 1)[0] ?? '').trimEnd();
}

function slice(text: string, node: Node): string {
  return text.slice(node.startIndex, node.endIndex);
}

const MAX_SIGNATURE = 200;

/** Character codes, because comparing letters as strings is slower. */
const ENDS_BEFORE: ReadonlySet<number> = new Set([...'\n{};,('].map((mark) => mark.charCodeAt(0)));

/** Modifiers such as `export const` precede the node. A brace or separator belongs to what came earlier. */
function lineStart(text: string, start: number): number {
  for (let at = start - 1; at >= 0 && start - at <= MAX_SIGNATURE; at--) {
    if (ENDS_BEFORE.has(text.charCodeAt(at))) return at + 1;
  }
  return start <= MAX_SIGNATURE ? 0 : start;
}

function bodyOf(node: Node): Node | null {
  const body = node.childForFieldName('body');
  if (body !== null) return body;
  const value = node.childForFieldName('value') ?? node.childForFieldName('right');
  const named = value?.childForFieldName('body') ?? null;
  if (named !== null) return named;
  const last = node.lastNamedChild; // Kotlin names no fields
  return last !== null && /(^|_)(body|block)$|^compound_statement$/.test(last.type) ? last : null;
}

const COMMENT_MARK = /\/[*/]|\*\/|#/;
const COMMENTS = ['comment', 'line_comment', 'block_comment', 'multiline_comment'];

/** The text between two places without the comments in it. What precedes the node holds whole ones or the end of one. */
function codeIn(text: string, node: Node, { start, end }: { start: number; end: number }): string {
  const raw = text.slice(start, end);
  if (!COMMENT_MARK.test(raw)) return raw;
  const before = text.slice(start, node.startIndex).replace(/^(?!.*\/\*).*\*\/|\/\*.*?\*\//g, ' ');
  let [code, at] = [before, node.startIndex];
  for (const comment of node.descendantsOfType(COMMENTS, node.startPosition, positionAt(text, node, end))) {
    if (comment.startIndex >= end) break;
    code += `${text.slice(at, comment.startIndex)} `;
    at = comment.endIndex;
  }
  return code + text.slice(at, Math.max(at, end));
}

function positionAt(text: string, { startIndex, startPosition }: Node, end: number) {
  const lines = text.slice(startIndex, end).split('\n');
  const column = (lines.at(-1) ?? '').length + (lines.length === 1 ? startPosition.column : 0);
  return { row: startPosition.row + lines.length - 1, column };
}

/** The text of a definition up to its body, or its first line when it has no body. Never splits a surrogate pair. */
function signatureOf(text: string, { node, end: nodeEnd }: Entry): string {
  const start = lineStart(text, node.startIndex);
  const body = bodyOf(node);
  // A body at the start of the node belongs to another definition.
  const end = body !== null && body.startIndex > node.startIndex ? body.startIndex : nodeEnd;
  const whole = codeIn(text, node, { start, end: Math.min(end, start + 4 * MAX_SIGNATURE) }).trim();
  const shown = body === null ? (whole.split('\n', 1)[0] ?? '') : whole;
  const signature = shown
    .replace(/\s+/g, ' ')
    .replace(/^(then|else|do) /, '')
    .replace(/ ?(\{|=>|=|;|:)$/, (mark) => (mark.trim() === '=>' ? mark : ''));
  if (signature.length <= MAX_SIGNATURE) return signature;
  return `${signature.slice(0, MAX_SIGNATURE - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
