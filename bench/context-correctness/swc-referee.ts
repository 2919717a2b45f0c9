import { parseSync } from '@swc/core';
import type { Language } from '../../src/context/lang/contract.ts';

interface AstNode {
  type: string;
  span?: { start: number; end: number };
  [key: string]: unknown;
}

function isNode(value: unknown): value is AstNode {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** An independent parser's view of a script: which names are classes, functions, methods or types, and on which lines. */
export class SwcReferee {
  readonly #declared = new Map<string, Set<number>>();
  readonly #source: Buffer;
  readonly #identifiers = new Set<number>();
  readonly #strings: [start: number, end: number][] = [];
  #base = 0;

  private constructor(source: Buffer) {
    this.#source = source;
  }

  /** `undefined`: swc does not read the file either (Flow, a syntax error), so nobody judges. */
  static of(text: string, language: Language): SwcReferee | undefined {
    const source = text.replace(/^\uFEFF/, ' ').replace(/^#!/, '//');
    const referee = new SwcReferee(Buffer.from(source));
    const isScript = language === 'javascript';
    try {
      // swc counts positions on from file to file: a first statement of known place gives the base.
      const marked = `0;${source}`;
      const tree = isScript
        ? parseSync(marked, { syntax: 'ecmascript', jsx: true, decorators: true, target: 'es2024' })
        : parseSync(marked, { syntax: 'typescript', tsx: language === 'tsx', decorators: true, target: 'es2024' });
      referee.#base = (tree.body[0]?.span.start ?? 0) + 2;
      referee.#walk(tree);
      return referee;
    } catch {
      return undefined;
    }
  }

  declares(name: string, line: number, slack: number): boolean {
    const lines = this.#declared.get(name) ?? new Set();
    for (let near = line - slack; near <= line + slack; near++) if (lines.has(near)) return true;
    return false;
  }

  /** For an index of the text: an identifier is code, the inside of a string literal is none, of the rest swc knows nothing. */
  identifiers(text: string): (index: number) => boolean | undefined {
    return (index) => {
      const offset = Buffer.byteLength(text.slice(0, index));
      if (this.#identifiers.has(offset)) return true;
      return this.#strings.some(([start, end]) => start < offset && offset < end) ? false : undefined;
    };
  }

  #walk(root: unknown): void {
    const stack: unknown[] = [root];
    while (stack.length > 0) {
      const value = stack.pop();
      if (typeof value !== 'object' || value === null) continue;
      if (isNode(value)) {
        this.#declare(value);
        this.#place(value);
      }
      stack.push(...Object.values(value));
    }
  }

  #place({ type, span }: AstNode): void {
    if (span === undefined) return;
    if (type === 'Identifier' || type === 'PrivateName') this.#identifiers.add(span.start - this.#base);
    if (type === 'StringLiteral') this.#strings.push([span.start - this.#base, span.end - this.#base]);
  }

  #declare(node: AstNode): void {
    const name = declaredName(node);
    if (!isNode(name)) return;
    const word = name.type === 'MemberExpression' ? name.property : name;
    if (!isNode(word)) return;
    const text = nameText(word);
    const span = word.span ?? node.span;
    if (text === undefined || span === undefined) return;
    const lines = this.#declared.get(text) ?? new Set();
    this.#declared.set(text, lines.add(this.#line(span.start - this.#base)));
  }

  #line(offset: number): number {
    let line = 1;
    for (let at = this.#source.indexOf(10); at !== -1 && at < offset; at = this.#source.indexOf(10, at + 1)) line++;
    return line;
  }
}

const FUNCTIONS = new Set(['FunctionExpression', 'ArrowFunctionExpression', 'ClassExpression']);

function isFunction(value: unknown): boolean {
  return isNode(value) && FUNCTIONS.has(value.type);
}

/** The node that names what another node declares, if it is one of the compared kinds. */
function declaredName(node: AstNode): unknown {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
      return node.identifier;
    case 'TsInterfaceDeclaration':
    case 'TsTypeAliasDeclaration':
    case 'TsEnumDeclaration':
      return node.id;
    case 'ClassMethod':
    case 'PrivateMethod':
    case 'Constructor':
    case 'MethodProperty':
    case 'GetterProperty':
    case 'SetterProperty':
    case 'TsMethodSignature':
    case 'TsGetterSignature':
    case 'TsSetterSignature':
      return node.key;
    case 'ClassProperty':
    case 'PrivateProperty':
    case 'KeyValueProperty':
      return isFunction(node.value) ? node.key : undefined;
    case 'VariableDeclarator':
      return isFunction(node.init) ? node.id : undefined;
    case 'AssignmentExpression':
      return node.operator === '=' && isFunction(node.right) ? node.left : undefined;
    default:
      return undefined;
  }
}

function nameText(word: AstNode): string | undefined {
  if (word.type === 'PrivateName') return isNode(word.id) ? nameText(word.id) : `${word.value}`;
  if (word.type === 'Computed') return '';
  return typeof word.value === 'string' || typeof word.value === 'number' ? `${word.value}` : undefined;
}
