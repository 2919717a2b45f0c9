import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type YAMLMap } from 'yaml';
import type { Json } from '../../protocol/workflow.ts';
import { DEEPEST, SourceFault, type SourceTree, stepOf } from './source.ts';

/** How many values a small file may grow to when its aliases are followed. */
const MOST_VALUES = 200_000;

/** YAML that JSON can express: no tags, no odd keys or numbers, and aliases up to a bound. */
export function readYaml(text: string): SourceTree {
  // Its own check for equal keys is quadratic: 18 s for 20,000 of them.
  const document = parseDocument(text, { uniqueKeys: false, schema: 'core', merge: false, logLevel: 'silent' });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw new SourceFault(firstLine(fault.message), fault.pos[0]);
  const reader = new YamlReader((node) => (isAlias(node) ? node.resolve(document) : undefined));
  const value = document.contents ? reader.read(document.contents, '', 0) : null;
  return { value, offsets: reader.offsets };
}

class YamlReader {
  readonly offsets = new Map<string, number>();
  readonly #follow: (node: Node) => Node | undefined;
  #values = 0;

  constructor(follow: (node: Node) => Node | undefined) {
    this.#follow = follow;
  }

  read(node: Node, pointer: string, depth: number): Json {
    const at = node.range?.[0] ?? 0;
    this.#values += 1;
    if (this.#values > MOST_VALUES) throw new SourceFault('its aliases make too many values', at);
    if (depth > DEEPEST) throw new SourceFault(`nested deeper than ${DEEPEST} levels`, at);
    if (!this.offsets.has(pointer)) this.offsets.set(pointer, at);
    if (node.tag !== undefined) throw new SourceFault(`the tag ${node.tag} is not allowed`, at);
    if (isAlias(node)) {
      const target = this.#follow(node);
      if (!target) throw new SourceFault(`the alias *${node.source} has no anchor`, at);
      return this.read(target, pointer, depth + 1);
    }
    if (isMap(node)) return this.#object(node, pointer, depth);
    if (isSeq(node))
      return node.items.map((item, index) => this.read(item as Node, pointer + stepOf(index), depth + 1));
    return plainValue(isScalar(node) ? node.value : undefined, at);
  }

  #object(node: YAMLMap, pointer: string, depth: number): Json {
    const entries = new Map<string, Json>();
    for (const pair of node.items) {
      const key = pair.key as Node;
      const at = key?.range?.[0] ?? node.range?.[0] ?? 0;
      if (!isScalar(key) || key.value === null) throw new SourceFault('a key is not plain text', at);
      const name = String(key.value);
      if (entries.has(name)) throw new SourceFault(`the key ${JSON.stringify(name)} is there twice`, at);
      const below = pointer + stepOf(name);
      const value = pair.value as Node | null;
      if (value === null) this.offsets.set(below, at);
      entries.set(name, value === null ? null : this.read(value, below, depth + 1));
    }
    return Object.fromEntries(entries);
  }
}

function plainValue(value: unknown, at: number): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new SourceFault('JSON has no such value', at);
}

function firstLine(message: string): string {
  return message.replace(/ at line \d+, column \d+:[\s\S]*$/, '');
}
