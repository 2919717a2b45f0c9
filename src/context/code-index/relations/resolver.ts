import { dirname } from 'node:path';
import type { Definition, FileFacts, ImportFact, Language } from '../../lang/contract.ts';
import type { ImportPaths } from '../modules/import-paths.ts';
import { isPackaged } from '../query/confidence.ts';
import { definedHere, type Found } from '../query/definitions.ts';
import { Exports, moduleBoundBy } from './exports.ts';
import { type Entity, entity, type Meaning, modulesEntity, type Place } from './meaning.ts';
import { Members } from './members.ts';
import { isOwnMember } from './own-members.ts';
import { receiverOf, type Step } from './receiver.ts';
import { around, frameOf, isClass, isMember, isRelated, pathOf, type Source, type Sources } from './sources.ts';
import { type Held, heldBy, returnedBy } from './variable-types.ts';

/** A chain of names and types that is longer says more of the reader's patience than of the code. */
const DEEPEST = 6;
const OWN = new Set(['self', 'this', 'cls', 'Self', '$this', '@']);
const BASES = new Set(['super', 'base', 'parent']);
/** A bare name there may be a member of the class around it. */
const SEES_MEMBERS: ReadonlySet<Language> = new Set([
  'java',
  'kotlin',
  'scala',
  'csharp',
  'cpp',
  'swift',
  'ruby',
  'objc',
]);
/** Names need no import there, or imports do not name them. */
const GLOBAL: ReadonlySet<Language> = new Set(['c', 'cpp', 'objc', 'ruby', 'bash', 'swift', 'php', 'csharp']);
const MOST_GLOBAL = 3;
const ARROWS: ReadonlySet<Language> = new Set(['c', 'cpp', 'objc', 'php']);

/** Which definition a use means, by the rules of its language. It answers `unknown` rather than guess. */
export class Resolver {
  readonly #sources: Sources;
  readonly #imports: ImportPaths;
  readonly #exports: Exports;
  readonly #members: Members;

  constructor(sources: Sources, imports: ImportPaths) {
    this.#sources = sources;
    this.#imports = imports;
    this.#exports = new Exports(sources, imports);
    this.#members = new Members(sources, (place, path) => this.#evaluate(place, stepsOf(path), DEEPEST - 1));
  }

  /** `isKey`: a member without an object, as the key of an object or the name of an argument. */
  async meaning(place: Place, isKey: boolean): Promise<Meaning> {
    const { source, name, index } = place;
    const receiver = receiverOf(source.text, index, ARROWS.has(source.language));
    if (receiver === undefined) return isKey ? 'elsewhere' : this.#bare(place);
    const owner = receiver === 'unknown' ? 'unknown' : await this.#evaluate(place, receiver, 0);
    if (owner === 'elsewhere') return 'elsewhere';
    const found = owner === 'unknown' ? undefined : await this.#memberOf(owner, name);
    if (found) return found;
    if (owner !== 'unknown' && owner.modules.length > 0) return 'elsewhere';
    return owner === 'unknown' ? this.#onlyOne(place) : 'unknown';
  }

  async #bare({ source, name, line }: Place): Promise<Meaning> {
    const { file, facts } = source;
    const own = visibleIn(source, name, line);
    if (own.length > 0) return entity(own.map((definition) => ({ file, definition })));
    for (const fact of facts.imports) {
      const taken = await this.#takenBy(source, fact, name);
      if (taken) return taken;
    }
    return this.#around(source, name);
  }

  /** What an import brings under this name. Undefined: it does not bring it. */
  async #takenBy(source: Source, fact: ImportFact, name: string): Promise<Meaning | undefined> {
    const { file, language } = source;
    const taking = fact.names.find((each) => (each.alias ?? each.name) === name);
    if (taking) {
      const found = await this.#exports.taken(file.path, language, { fact, name: taking.name });
      return found.definitions.length + found.modules.length > 0 ? found : 'elsewhere';
    }
    const bound = moduleBoundBy(fact, language, name);
    if (bound !== undefined) {
      const modules = this.#imports.resolve(file.path, language, bound);
      return modules.length > 0 ? modulesEntity(modules) : 'elsewhere';
    }
    const found = await this.#exports.broughtWhole(source, { fact, name });
    return found.length > 0 ? entity(found) : undefined;
  }

  /** The package around the file, or, where names are global, all files. */
  #around({ file, language }: Source, name: string): Meaning {
    const { index, view } = this.#sources;
    if (!isPackaged(language) && !GLOBAL.has(language)) return 'elsewhere';
    const named = definedHere(index, view, name).filter((found) => {
      const other = index.languages.of(found.file);
      const facts = other && index.structures.known(found.file, other)?.facts;
      return (
        facts && isRelated(language, other) && !isMember(facts, found.definition) && !frameOf(facts, found.definition)
      );
    });
    const near = named.filter(({ file: other }) => dirname(other.path) === dirname(file.path));
    if (isPackaged(language) && near.length > 0) return entity(near);
    if (!GLOBAL.has(language) || named.length === 0) return 'elsewhere';
    return named.length <= MOST_GLOBAL ? entity(named, false) : 'unknown';
  }

  async #evaluate(place: Place, steps: readonly Step[], depth: number): Promise<Meaning> {
    const [first, ...rest] = steps;
    if (first === undefined || depth > DEEPEST) return 'unknown';
    let meaning = await this.#first(place, first, depth);
    for (const step of rest) {
      if (meaning === 'elsewhere' || meaning === 'unknown') return meaning;
      const member = await this.#memberOf(meaning, step.name);
      if (!member && meaning.modules.length > 0) return 'elsewhere';
      meaning = member ? await this.#valueOf(member, step, depth) : await this.#fieldOf(meaning, step, depth);
    }
    return meaning;
  }

  async #first(place: Place, step: Step, depth: number): Promise<Meaning> {
    const { source, line } = place;
    const owner = ownerAt(source, line);
    if (OWN.has(step.name) && owner) return entity(owner);
    if (BASES.has(step.name) && owner) return this.#members.basesOf(owner);
    const held = step.isCalled ? undefined : this.#heldAt(place, step.name);
    if (held) return this.#held({ ...place, index: held.index }, held.held, depth);
    const meaning = await this.#bare({ ...place, name: step.name });
    return typeof meaning === 'string' ? meaning : this.#valueOf(meaning, step, depth);
  }

  /** What the function around a place says of a variable. */
  #heldAt({ source, index, line }: Place, name: string): { held: Held; index: number } | undefined {
    const frame = around(source.facts, line).find(({ kind }) => kind === 'function' || kind === 'method');
    if (!frame) return undefined;
    const start = source.lines.index({ line: frame.line, column: 0 });
    const held = heldBy(source.text.slice(start, index), source.language, name);
    return held && { held, index: start };
  }

  async #held(place: Place, held: Held, depth: number): Promise<Meaning> {
    const steps = 'type' in held ? stepsOf(held.type) : held.steps;
    const isItself = steps.length === 1 && steps[0]?.name === place.name;
    return isItself ? 'unknown' : this.#evaluate({ ...place, name: '' }, steps, depth + 1);
  }

  /** What a name stands for behind a dot: a class for its instance, a call for what it gives back, a variable for what it holds. */
  async #valueOf(meaning: Entity, step: Step, depth: number): Promise<Meaning> {
    const [found] = meaning.definitions;
    if (!found) return step.isCalled && meaning.modules.length > 0 ? this.#exports.main(meaning.modules) : meaning;
    if (isClass(found.definition)) return meaning;
    const source = await this.#sources.of(found.file.path);
    if (!source) return 'unknown';
    const { definition } = found;
    const place = { source, name: '', line: definition.line, index: source.lines.index(definition) };
    if (step.isCalled) {
      const type = returnedBy(definition.signature, source.language);
      return type === undefined ? 'unknown' : this.#evaluate(place, stepsOf(type), depth + 1);
    }
    const end = source.lines.index({ line: definition.endLine, column: definition.endColumn });
    const start = source.lines.index({ line: definition.line, column: 0 });
    const held = heldBy(source.text.slice(start, end), source.language, definition.name);
    const value = held ? await this.#held(place, held, depth) : 'unknown';
    return value === 'unknown' || value === 'elsewhere' ? meaning : value;
  }

  /** What a class says of a field that it does not declare by itself: `self.pager = Paginator()`. */
  async #fieldOf({ definitions }: Entity, step: Step, depth: number): Promise<Meaning> {
    const [owner] = definitions;
    const source = owner && isClass(owner.definition) ? await this.#sources.of(owner.file.path) : undefined;
    if (!owner || !source || step.isCalled) return 'unknown';
    const { line, endLine, endColumn } = owner.definition;
    const start = source.lines.index({ line, column: 0 });
    const body = source.text.slice(start, source.lines.index({ line: endLine, column: endColumn }));
    const held = heldBy(body, source.language, step.name);
    return held ? this.#held({ source, name: step.name, line, index: start }, held, depth) : 'unknown';
  }

  async #memberOf(owner: Entity, name: string): Promise<Entity | undefined> {
    if (owner.modules.length > 0) return this.#exports.ofModules(owner.modules, name);
    return this.#members.of(owner.definitions, name);
  }

  /** Of an object whose type is not said: the one class that has such a member, if the file knows of it. */
  #onlyOne({ source, name }: Place): Meaning {
    if (name.length < 4 || isOwnMember(name)) return 'unknown';
    const { index, view } = this.#sources;
    const members = definedHere(index, view, name).filter(({ file, definition }) => {
      const language = index.languages.of(file);
      return language && isRelated(language, source.language) && definition.container !== undefined;
    });
    const owners = new Set(members.map(({ definition }) => definition.container));
    const [owner] = owners;
    if (owners.size !== 1 || owner === undefined) return 'unknown';
    const isKnown = members.some(({ file }) => file.path === source.file.path) || this.#knows(source, members, owner);
    return isKnown ? entity(members, false) : 'unknown';
  }

  #knows({ file, facts, language, text }: Source, members: readonly Found[], owner: string): boolean {
    const last = owner.slice(owner.lastIndexOf('.') + 1);
    if (new RegExp(`\\b${last.replaceAll(/\W/g, '')}\\b`).test(text)) return true;
    const homes = new Set(members.map((found) => found.file.path));
    const isBeside = isPackaged(language) && [...homes].some((home) => dirname(home) === dirname(file.path));
    return (
      isBeside ||
      facts.imports.some(({ source }) =>
        this.#imports.resolve(file.path, language, source).some((each) => homes.has(each)),
      )
    );
  }
}

function stepsOf(path: string): Step[] {
  return path.split('.').map((name) => ({ name, isCalled: false }));
}

/** The class around a line. Go names it in the method. */
function ownerAt({ facts, file }: Source, line: number): Found[] | undefined {
  const outer = around(facts, line);
  const owner = outer.findLast(isClass);
  if (owner) return [{ file, definition: owner }];
  const container = outer.findLast((each) => each.container !== undefined)?.container;
  const named = facts.definitions.filter((each) => isClass(each) && pathOf(each) === container);
  return named.length > 0 ? named.map((definition) => ({ file, definition })) : undefined;
}

/** Definitions of this file that a bare name may mean at a line: those of the innermost function or block around it first. */
function visibleIn(source: Source, name: string, line: number): Definition[] {
  const { facts, language } = source;
  const named = facts.definitions.filter((each) => each.name === name && each.kind !== 'import');
  const seen = named.flatMap((definition) => {
    const isOwn = isMember(facts, definition);
    if (isOwn && !(SEES_MEMBERS.has(language) && isAroundMember(facts, definition, line))) return [];
    const frame = frameOf(facts, definition) ?? (isOwn ? undefined : blockOf(source, definition));
    if (frame && !(frame.line <= line && line <= frame.endLine)) return [];
    return [{ definition, size: frame ? frame.endLine - frame.line : Number.POSITIVE_INFINITY }];
  });
  const smallest = Math.min(...seen.map(({ size }) => size));
  const near = seen.filter(({ size }) => size === smallest).map(({ definition }) => definition);
  // Inside a function the one that was defined last counts; the names of a file may be overloads of each other.
  const before = Number.isFinite(smallest) ? near.filter((each) => each.line <= line) : [];
  return before.length > 1 ? before.slice(-1) : near;
}

/** The lines around an indented definition that are indented as far: it may lie in a function without a name, such as a test. */
function blockOf({ text, lines }: Source, definition: Definition): { line: number; endLine: number } | undefined {
  const lineAt = (line: number) =>
    text.slice(lines.index({ line, column: 0 }), lines.index({ line: line + 1, column: 0 }));
  const depth = indentOf(lineAt(definition.line));
  if (depth === undefined || depth === 0) return undefined;
  const last = lines.position(text.length).line;
  const isInside = (line: number) => line > 0 && line <= last && (indentOf(lineAt(line)) ?? depth) >= depth;
  let [line, endLine] = [definition.line, definition.endLine];
  while (isInside(line - 1)) line -= 1;
  while (isInside(endLine + 1)) endLine += 1;
  return { line, endLine };
}

/** Undefined: the line is empty. */
function indentOf(line: string): number | undefined {
  const at = line.search(/\S/);
  return at === -1 ? undefined : at;
}

function isAroundMember(facts: FileFacts, { container }: Definition, line: number): boolean {
  return around(facts, line).some((each) => pathOf(each) === container || each.container === container);
}
