import type { Definition, HitClass } from '../../lang/contract.ts';
import { isTooLarge } from '../../lang/limits.ts';
import { isRoutine } from '../explore/units.ts';
import type { ImportPaths } from '../modules/import-paths.ts';
import type { Classifier } from '../query/classifier.ts';
import { candidatesFor, type Found, parseMissing, symbolId } from '../query/definitions.ts';
import type { Question } from '../query/kept-classes.ts';
import type { FileHits } from '../query/reference-list.ts';
import { readHits } from '../query/references.ts';
import type { Entity } from './meaning.ts';
import { Resolver } from './resolver.ts';
import { around, type Source, type Sources } from './sources.ts';

type Relation = 'call' | 'type' | 'use';

/** One definition, or the file outside of all definitions, uses another definition. */
export interface Edge {
  from: Found | undefined;
  /** Where the use stands. */
  path: string;
  lines: number[];
  to: Found;
  relation: Relation;
  isSure: boolean;
}

export interface Uses {
  edges: Edge[];
  /** Uses of the name of which nobody can say which definition they mean. */
  unresolved: number;
  pending: number;
  skipped: number;
}

interface Asked {
  sources: Sources;
  imports: ImportPaths;
  classifier: Classifier;
  /** When the time is up, by `performance.now()`. */
  end: number;
  signal?: AbortSignal | undefined;
}

const RELATION: Partial<Record<HitClass['kind'], Relation>> = { call: 'call', type: 'type', usage: 'use' };
/** The first answer of a class: a function that is called is more than one that is passed on. */
const WEIGHT: Record<Relation, number> = { call: 0, use: 1, type: 2 };
const WORD = /#?[\p{L}_$][\p{L}\p{N}_$]*/gu;
const LEAST_MS = 50;
const MOST_ALIASES = 8;

/** Finds the edges of the graph of uses, from one end or the other. */
export class UseFinder {
  readonly #asked: Asked;
  readonly resolver: Resolver;

  constructor(asked: Asked) {
    this.#asked = asked;
    this.resolver = new Resolver(asked.sources, asked.imports);
  }

  get isLate(): boolean {
    return performance.now() > this.#asked.end;
  }

  get #leftMs(): number {
    return Math.max(LEAST_MS, this.#asked.end - performance.now());
  }

  /** Who uses these definitions. */
  async of(targets: readonly Found[]): Promise<Uses> {
    const all: Uses = { edges: [], unresolved: 0, pending: 0, skipped: 0 };
    for (const [name, wanted] of Map.groupBy(targets, ({ definition }) => definition.name)) {
      if (name === '_') continue; // Go's name for what nobody uses
      const ids = new Set(wanted.map(symbolId));
      // Other names that imports give it: `import { tax as t }`, `export { tax as duty }`.
      const names = [name];
      for (const each of names) {
        const found = await this.#named(each, ids);
        add(all, found);
        if (this.isLate) break;
        names.push(
          ...[...found.aliases].filter((alias) => !names.includes(alias)).slice(0, MOST_ALIASES - names.length),
        );
      }
    }
    all.edges = merged(all.edges);
    return all;
  }

  async #named(name: string, wanted: ReadonlySet<string>): Promise<Uses & { aliases: ReadonlySet<string> }> {
    const { sources, classifier, signal } = this.#asked;
    const { index, view } = sources;
    const candidates = candidatesFor(index, view, name);
    const code = candidates.files.filter((file) => index.languages.of(file) !== undefined);
    const missing = await parseMissing(index, code, this.#leftMs);
    const hits = await readHits(index, name, code, signal);
    const questions = hits.flatMap((each) => this.#questionOf(name, each));
    await classifier.classify(questions, { ms: this.#leftMs, signal });
    const uses: Uses = {
      edges: [],
      unresolved: 0,
      pending: candidates.pending + missing.pending,
      skipped: candidates.skipped + missing.skipped + missing.partial,
    };
    for (const each of hits) {
      const { file, language } = each;
      if (language === undefined || isTooLarge(file.stamp.size)) continue;
      const classes = classifier.known({ oid: file.oid, language, name });
      if (classes === undefined || (this.isLate && uses.edges.length > 0)) uses.pending += 1;
      else if (classes !== 'skipped') await this.#resolve({ ...each, name }, { classes, wanted, uses });
    }
    return { ...uses, aliases: this.#aliasesIn(hits, name) };
  }

  /** The names under which files that hold this one bring it or hand it on. */
  #aliasesIn(hits: readonly FileHits[], name: string): Set<string> {
    const { index } = this.#asked.sources;
    const taken = hits.flatMap(({ file, language }) => {
      const imports = (language && index.structures.known(file, language)?.facts?.imports) ?? [];
      return imports.flatMap(({ names }) => names.filter((each) => each.name === name));
    });
    return new Set(taken.flatMap(({ alias }) => (alias === undefined || alias === name ? [] : [alias])));
  }

  #questionOf(name: string, { file, language, hits }: FileHits): Question[] {
    if (language === undefined || isTooLarge(file.stamp.size)) return [];
    return [
      {
        oid: file.oid,
        language,
        name,
        hits,
        source: (room) => this.#asked.sources.index.tree.read(file.path, room)?.bytes,
      },
    ];
  }

  async #resolve(
    { file, hits, name }: FileHits & { name: string },
    { classes, wanted, uses }: { classes: readonly HitClass[]; wanted: ReadonlySet<string>; uses: Uses },
  ): Promise<void> {
    if (!classes.some(isUse)) return;
    const source = await this.#asked.sources.of(file.path);
    if (!source) return;
    for (const [at, found] of classes.entries()) {
      const { line, column } = hits.at(at);
      const meaning = await this.#meantBy(source, { name, line, column, found }, uses);
      const meant = (meaning?.definitions ?? []).filter((each) => wanted.has(symbolId(each)));
      for (const to of meant) uses.edges.push(edgeAt(source, { line, to, found, isSure: meaning?.isSure === true }));
    }
  }

  /** What a place means, counted if nobody can say. */
  async #meantBy(
    source: Source,
    { name, line, column, found }: ClassifiedHit,
    uses: Uses,
  ): Promise<Entity | undefined> {
    if (!found || !isUse(found)) return undefined;
    const place = { source, name, line, index: source.lines.index({ line, column }) };
    const meaning = await this.resolver.meaning(place, found.isMember === true);
    if (meaning === 'unknown') uses.unresolved += 1;
    return typeof meaning === 'string' ? undefined : meaning;
  }

  /** What these definitions use. */
  async by(users: readonly Found[]): Promise<Uses> {
    const all: Uses = { edges: [], unresolved: 0, pending: 0, skipped: 0 };
    for (const { file, definition } of users) {
      const source = await this.#asked.sources.of(file.path);
      if (!source) all.skipped += 1;
      else await this.#usesIn(source, { from: definition, all });
    }
    all.edges = merged(all.edges);
    return all;
  }

  async #usesIn(source: Source, { from, all }: { from: Definition; all: Uses }): Promise<void> {
    const { index } = this.#asked.sources;
    const start = source.lines.index(from) + from.name.length;
    const end = source.lines.index({ line: from.endLine, column: from.endColumn });
    const hits = [...source.text.slice(start, end).matchAll(WORD)]
      .filter(([word]) => this.#mayMean(source, word))
      .map((match) => ({ name: match[0], ...source.lines.position(start + match.index) }));
    const bytes = index.tree.read(source.file.path)?.bytes;
    if (hits.length === 0 || !bytes) return;
    const parser = await index.parser();
    const classes = await parser.classify({ source: bytes, language: source.language, hits }).catch(() => undefined);
    if (classes === undefined) all.pending += 1;
    else if ('skipped' in classes) all.skipped += 1;
    else
      for (const [at, hit] of hits.entries()) {
        const found = classes[at];
        const meaning = await this.#meantBy(source, { ...hit, found }, all);
        for (const to of meaning?.definitions ?? []) {
          const edge = edgeAt(source, { line: hit.line, to, found, isSure: meaning?.isSure === true });
          all.edges.push({ ...edge, from: { file: source.file, definition: from } });
        }
      }
  }

  /** Something here has the name, or the file brings it under this one. */
  #mayMean({ facts }: Source, word: string): boolean {
    const { index } = this.#asked.sources;
    const isAlias = facts.imports.some(({ names }) => names.some(({ alias, name }) => alias === word && name !== '*'));
    return isAlias || index.names.definers(word).length > 0;
  }
}

function add(all: Uses, { edges, unresolved, pending, skipped }: Uses): void {
  all.edges.push(...edges);
  all.unresolved += unresolved;
  all.pending += pending;
  all.skipped = Math.max(all.skipped, skipped);
}

function isUse({ kind, scope }: HitClass): boolean {
  return scope !== 'local' && RELATION[kind] !== undefined;
}

interface ClassifiedHit {
  name: string;
  line: number;
  column: number;
  found: HitClass | undefined;
}

interface Seen {
  line: number;
  to: Found;
  found: HitClass | undefined;
  isSure: boolean;
}

function edgeAt({ file, facts }: Source, { line, to, found, isSure }: Seen): Edge {
  const outer = around(facts, line);
  const definition = outer.findLast(isRoutine) ?? outer.at(-1);
  const from = definition && { file, definition };
  return { from, path: file.path, lines: [line], to, relation: (found && RELATION[found.kind]) ?? 'use', isSure };
}

/** One edge for all uses of one definition in another. */
function merged(edges: readonly Edge[]): Edge[] {
  const byEnds = Map.groupBy(edges, ({ from, path, to }) => `${from ? symbolId(from) : path}\0${symbolId(to)}`);
  return [...byEnds.values()].map((same) => {
    const [first] = same.toSorted((a, b) => WEIGHT[a.relation] - WEIGHT[b.relation]) as [Edge];
    const lines = [...new Set(same.flatMap((each) => each.lines))].sort((a, b) => a - b);
    return { ...first, lines, isSure: same.some(({ isSure }) => isSure) };
  });
}
