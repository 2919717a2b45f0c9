import type { Query } from 'web-tree-sitter';
import { LineIndex } from '../../base/line-index.ts';
import type { HitClass, Language, Position } from './contract.ts';
import type { DefinitionsQuery, QueriedTree } from './definitions-query.ts';
import { readFacts } from './facts.ts';
import { LocalNames } from './local-names.ts';
import { type PathNode, TreePaths } from './tree-path.ts';

interface ParsedSource extends QueriedTree {
  language: Language;
  definitions: DefinitionsQuery;
  locals: Query;
}

interface Hit {
  index: number;
  name: string;
  key: string;
  order: number;
}

/** Only what the grammar calls a comment or a string is text. Everything else is code, because no reference may be lost. */
export function classifyHits(source: ParsedSource, positions: readonly Position[]): HitClass[] {
  const hits = locate(source, positions);
  const { definitions } = readFacts({ ...source, query: source.definitions });
  const defined = new Set(definitions.map(({ name, line, column }) => `${line}:${column + sigil(name)}`));
  const locals = new LocalNames(source, new Set(hits.map(({ name }) => name)));
  const paths = new TreePaths(source.root);
  const classes: HitClass[] = new Array(positions.length);
  for (const hit of hits) {
    const path = paths.to(hit.index);
    classes[hit.order] = defined.has(hit.key) ? { kind: 'definition' } : classOf(hit, path, locals, source.text);
  }
  paths.delete();
  return classes;
}

/** In ascending order, because the cursor only moves forwards. */
function locate({ text, language }: ParsedSource, positions: readonly Position[]): Hit[] {
  const lines = new LineIndex(text);
  const hits = positions.map((position, order) => {
    const from = lines.index(position);
    const skip = language === 'php' && text.charAt(from) === '$' ? 1 : 0; // not a part of the name
    const key = `${position.line}:${position.column + skip}`;
    return { index: from + skip, name: wordAt(text, from + skip), key, order };
  });
  return hits.sort((a, b) => a.index - b.index);
}

/** The length of what precedes the word, as in `#secret`, `~Cart` or `"quoted"`. */
function sigil(name: string): number {
  return /^[^\p{L}\p{N}_$]*/u.exec(name)?.[0].length ?? 0;
}

function wordAt(text: string, index: number): string {
  const word = /[\p{L}\p{N}_$]+/uy;
  word.lastIndex = index;
  return word.exec(text)?.[0] ?? '';
}

const COMMENT = /comment$|^(hash_bang_line|shebang)/;
const TEXT =
  /(^|_)(string|char|character|rune|regex|heredoc|nowdoc|escape)(_|$)|^(template_string|jsx_text|text|raw_text|multiline_string_fragment)$/;
/** `<stdio.h>` is an import. In Bash's `${path#$root/}` the pattern is one leaf, with the variables in it. */
const UNQUOTED: ReadonlySet<string> = new Set(['system_lib_string', 'regex']);
const IMPORT =
  /^(import_statement|import_from_statement|future_import_statement|import_declaration|import|import_require_clause|use_declaration|extern_crate_declaration|using_directive|using_declaration|namespace_use_declaration|preproc_include)$/;

function classOf(hit: Hit, path: readonly PathNode[], locals: LocalNames, text: string): HitClass {
  const leaf = path.at(-1);
  if (leaf === undefined) return { kind: 'usage' };
  if (leaf.isNamed && COMMENT.test(leaf.type)) return { kind: 'comment' };
  if (leaf.isNamed && TEXT.test(leaf.type) && !UNQUOTED.has(leaf.type)) return { kind: 'string' };
  if (locals.binds(hit.index)) return { kind: 'definition', scope: 'local' };
  if (path.some(({ type }) => IMPORT.test(type))) return { kind: 'import' };
  const kind = isCalled(path, text) ? 'call' : isType(path) ? 'type' : 'usage';
  if (isMember(path)) return { kind, isMember: true };
  const isLocal = kind !== 'type' && locals.isLocal(hit.name, hit.index);
  return isLocal ? { kind, scope: 'local' } : { kind };
}

const MEMBER =
  /^(member_expression|attribute|selector_expression|field_expression|field_access|scoped_identifier|qualified_identifier|member_access_expression|nullsafe_member_access_expression|conditional_access_expression|member_binding_expression|navigation_expression|scope_resolution|class_constant_access_expression|qualified_name)$/;
const LAST_FIELD = /^(property|attribute|field|name)$/;
const WRAPPER =
  /^(generic_function|template_function|generic_name|instantiation_expression|non_null_expression|generic_type|member_binding_expression)$/;
const CALL =
  /^(call_expression|call|new_expression|method_invocation|invocation_expression|object_creation_expression|instance_expression|function_call_expression|member_call_expression|nullsafe_member_call_expression|scoped_call_expression|macro_invocation|message_expression|decorator|command_name)$/;
const CALLED_FIELD = /^(function|method|name|constructor|macro|type|selector)$/;

/** The name after the last dot. Kotlin gives it no field, but it ends with its parent. */
function isLastName(node: PathNode, parent: PathNode): boolean {
  if (!MEMBER.test(parent.type)) return false;
  return node.field === null ? node.start > parent.start && node.end === parent.end : LAST_FIELD.test(node.field);
}

function isMember(path: readonly PathNode[]): boolean {
  const [parent, leaf] = path.slice(-2);
  if (leaf === undefined || parent === undefined) return false;
  if (/^(property_identifier|field_identifier|private_property_identifier|hash_key_symbol)$/.test(leaf.type))
    return true;
  const isKey = leaf.field === 'key' || leaf.field === 'label';
  const isArgumentName = leaf.field === 'name' && /argument$/.test(parent.type);
  const hasReceiver = leaf.field === 'method' && parent.start < leaf.start;
  const isInvokedOn = parent.type === 'method_invocation' && leaf.field === 'name' && parent.start < leaf.start;
  return isLastName(leaf, parent) || isKey || isArgumentName || hasReceiver || isInvokedOn;
}

function isCalled(path: readonly PathNode[], text: string): boolean {
  let at = path.length - 1;
  for (; at > 0; at--) {
    const node = path[at];
    const parent = path[at - 1];
    if (node === undefined || parent === undefined) return false;
    if (!isLastName(node, parent) && !WRAPPER.test(parent.type)) break;
  }
  const node = path[at];
  const parent = path[at - 1];
  if (node === undefined || parent === undefined) return false;
  // Rust has only tokens inside the arguments of a macro.
  if (parent.type === 'token_tree') return /^\s*\(/.test(text.slice(node.end, node.end + 8));
  if (!CALL.test(parent.type)) return false;
  return node.field === null ? isCalledByPlace(node, parent) : CALLED_FIELD.test(node.field);
}

/** Without a field, the place decides: the callee comes first, a class or decorator right after its keyword. */
function isCalledByPlace(node: PathNode, parent: PathNode): boolean {
  if (/^(object_creation_expression|instance_expression|decorator|command_name)$/.test(parent.type)) return true;
  return node.start === parent.start && /^(call_expression|call|invocation_expression)$/.test(parent.type);
}

const TYPE =
  /^(type|type_annotation|user_type|named_type|class_heritage|extends_clause|implements_clause|superclass|superclasses|super_interfaces|base_list|base_class_clause|base_clause|class_interface_clause|delegation_specifier|type_argument_list|type_arguments|nullable_type|array_type|annotation|marker_annotation|attribute|protocol_reference_list)$/;
const TYPE_FIELDS: ReadonlySet<string> = new Set(['type', 'return_type', 'returns', 'superclass']);
const TYPE_PART =
  /^(identifier|name|constant|generic_name|qualified_name|scoped_identifier|qualified_identifier|scope_resolution|member_expression|nested_identifier|nested_type_identifier|scoped_type_identifier|qualified_type|type_identifier|generic_type|pointer_type|tuple_type)$/;

/** A name of a type, or only names lie between it and one. The bases of a Python class are its arguments. */
function isType(path: readonly PathNode[]): boolean {
  const leaf = path.at(-1);
  if (leaf?.type === 'type_identifier') return true;
  for (let at = path.length - 1; at > 0; at--) {
    const node = path[at];
    const parent = path[at - 1];
    if (node === undefined || parent === undefined || !TYPE_PART.test(node.type)) return false;
    if (node.field !== null && TYPE_FIELDS.has(node.field)) return true;
    if (parent.type === 'argument_list') return path[at - 2]?.type === 'class_definition';
    if (TYPE.test(parent.type) && !(parent.type === 'attribute' && node.field !== null)) return true;
  }
  return false;
}
