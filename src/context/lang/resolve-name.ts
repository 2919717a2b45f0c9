import type { Node } from 'web-tree-sitter';

/** No person writes a deeper declarator. */
const MAX_STEPS = 64;

/**
 * Finds the name inside what a query captured as one. C wraps it in declarators (`*f(int)`), C++ and Ruby qualify it
 * (`A::f`), JavaScript assigns to members (`A.prototype.f`). `isFunction` is true for a C declarator of a function, but not of a
 * pointer to one.
 */
export function resolveName(captured: Node, text: string) {
  const qualifiers: string[] = [];
  let node = captured;
  let isFunction = false;
  let type = node.type;
  for (let step = 0; step < MAX_STEPS; step++) {
    const inner = innerOf(node, type);
    if (inner === null) break;
    if (inner.qualifier !== null)
      qualifiers.push(clean(text.slice(inner.qualifier.startIndex, inner.qualifier.endIndex)));
    if (type === 'function_declarator') isFunction = true;
    else if (/^(pointer|array|block_pointer)_declarator$/.test(type)) isFunction = false;
    node = inner.node;
    type = node.type;
  }
  if (type === 'operator_cast') isFunction = true;
  const qualifier = qualifiers.filter(Boolean).join('.');
  return { nameNode: node, type, qualifier: qualifier || undefined, isFunction };
}

function innerOf(node: Node, type: string): { node: Node; qualifier: Node | null } | null {
  switch (type) {
    case 'qualified_identifier':
    case 'scope_resolution':
      return step(node.childForFieldName('name'), node.childForFieldName('scope'));
    case 'member_expression':
      return step(node.childForFieldName('property'), node.childForFieldName('object'));
    case 'template_function':
    case 'template_type':
    case 'generic_type':
      return step(node.childForFieldName('name') ?? node.childForFieldName('type'), null);
    case 'parenthesized_declarator':
    case 'reference_declarator':
    case 'attributed_declarator':
      return step(node.firstNamedChild, null);
    default:
      return type.endsWith('_declarator') ? step(node.childForFieldName('declarator'), null) : null;
  }
}

function step(node: Node | null, qualifier: Node | null) {
  return node === null ? null : { node, qualifier };
}

/** `exports.f` and `this.f` have no container. Template arguments do not belong to the name of a container. */
function clean(qualifier: string): string {
  const [open, close] = [qualifier.indexOf('<'), qualifier.lastIndexOf('>')];
  const named = open >= 0 && open < close ? qualifier.slice(0, open) + qualifier.slice(close + 1) : qualifier;
  const plain = named.replace(/\s+/g, '').replaceAll('::', '.');
  return plain.replace(/\.prototype$/, '').replace(/^(module\.)?exports$|^this$|^globalThis$|^window$/, '');
}
