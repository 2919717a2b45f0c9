import { LineIndex } from '../../../base/line-index.ts';
import { type Definition, decodeSource, type FileFacts, type Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import { isRoutine } from '../explore/units.ts';
import type { View } from '../tree/view.ts';
import type { TreeFile } from '../tree/worktree-tree.ts';

/** A file with its structure and its text. */
export interface Source {
  file: TreeFile;
  language: Language;
  facts: FileFacts;
  text: string;
  lines: LineIndex;
}

const MAX_BYTES = 1024 * 1024;
/** Texts held at once: questions go from file to file and come back to a few. */
const MOST_KEPT = 24;

/** The files that a question follows, each parsed when it is needed. */
export class Sources {
  readonly index: CodeIndex;
  readonly view: View;
  readonly #kept = new Map<string, Promise<Source | undefined>>();
  /** Files that the question needed and that could not be parsed. */
  readonly unparsed = new Set<string>();

  constructor(index: CodeIndex, view: View) {
    this.index = index;
    this.view = view;
  }

  /** Undefined: no file of code. */
  async facts(path: string): Promise<FileFacts | undefined> {
    const file = this.view.files.get(path);
    const language = file && this.index.languages.of(file);
    if (!file || !language) return undefined;
    const facts = (await this.index.structures.of(file, language))?.facts;
    if (!facts) this.unparsed.add(path);
    return facts;
  }

  of(path: string): Promise<Source | undefined> {
    const kept = this.#kept.get(path) ?? this.#read(path);
    this.#kept.delete(path);
    this.#kept.set(path, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return kept;
  }

  async #read(path: string): Promise<Source | undefined> {
    const file = this.view.files.get(path);
    const language = file && this.index.languages.of(file);
    const facts = await this.facts(path);
    const bytes = this.index.tree.read(path, undefined, MAX_BYTES)?.bytes;
    if (!file || !language || !facts || !bytes) return undefined;
    const text = decodeSource(bytes);
    return { file, language, facts, text, lines: new LineIndex(text) };
  }
}

const CLASSES = new Set(['class', 'interface', 'struct', 'enum', 'type']);

export function isClass({ kind }: Definition): boolean {
  return CLASSES.has(kind);
}

/** The definitions around a line, outermost first; what begins on the line itself counts. */
export function around({ definitions }: FileFacts, line: number): Definition[] {
  const holding = definitions.filter((each) => each.kind !== 'import' && each.line <= line && line <= each.endLine);
  return holding.sort((a, b) => b.endLine - b.line - (a.endLine - a.line) || a.line - b.line || a.column - b.column);
}

/** It belongs to a class or a value, so its bare name means nothing outside of that. A namespace is no such owner. */
export function isMember({ definitions }: FileFacts, { container, kind }: Definition): boolean {
  if (container === undefined) return kind === 'method';
  const owner = container.slice(container.lastIndexOf('.') + 1);
  return !definitions.some((each) => each.name === owner && each.kind === 'module');
}

/** The function that a definition lies in, if any: outside of it nobody sees its name. */
export function frameOf(facts: FileFacts, definition: Definition): Definition | undefined {
  return around(facts, definition.line).findLast(
    (each) =>
      each !== definition && isRoutine(each) && (each.line < definition.line || each.column < definition.column),
  );
}

/** Definitions that other files can reach by this name. */
export function topLevel(facts: FileFacts, name: string): Definition[] {
  const named = facts.definitions.filter((each) => each.name === name && each.kind !== 'import');
  return named.filter((each) => !isMember(facts, each) && frameOf(facts, each) === undefined);
}

/** The whole name of a class as the containers of its members give it. */
export function pathOf({ name, container }: Definition): string {
  return container === undefined ? name : `${container}.${name}`;
}

const FAMILIES: readonly (readonly Language[])[] = [
  ['typescript', 'tsx', 'javascript'],
  ['c', 'cpp', 'objc'],
  ['java', 'kotlin', 'scala'],
];

/** Whether code of one language can use definitions of the other by name. */
export function isRelated(one: Language, other: Language): boolean {
  return one === other || FAMILIES.some((family) => family.includes(one) && family.includes(other));
}
