import { dirname } from 'node:path';
import type { Language } from '../../lang/contract.ts';
import { definedHere, type Found } from '../query/definitions.ts';
import { type Entity, entity, type Meaning, type Place } from './meaning.ts';
import { isClass, isRelated, pathOf, type Sources } from './sources.ts';
import { basesOf } from './variable-types.ts';

const MOST_BASES = 12;
/** Members may stand in other files of the folder, or in any file. */
const BY_FOLDER: ReadonlySet<Language> = new Set(['go', 'csharp', 'swift', 'rust', 'kotlin']);
const ANYWHERE: ReadonlySet<Language> = new Set(['c', 'cpp', 'objc', 'ruby', 'csharp']);

type Evaluate = (place: Place, path: string) => Promise<Meaning>;

/** The members of classes, those of their bases included. */
export class Members {
  readonly #sources: Sources;
  readonly #evaluate: Evaluate;

  constructor(sources: Sources, evaluate: Evaluate) {
    this.#sources = sources;
    this.#evaluate = evaluate;
  }

  /** The nearest class that has it wins: the object's own, then its bases. */
  async of(owners: readonly Found[], name: string): Promise<Entity | undefined> {
    let wave = owners;
    const met = new Set<string>();
    while (wave.length > 0 && met.size < MOST_BASES) {
      const found = wave.flatMap((owner) => this.#own(owner, name));
      if (found.length > 0) return entity(found);
      const fresh = wave.filter((owner) => !met.has(keyOf(owner)));
      for (const owner of fresh) met.add(keyOf(owner));
      const bases = await Promise.all(fresh.map((owner) => this.#basesOf(owner)));
      wave = bases.flat().filter((base) => !met.has(keyOf(base)));
    }
    return undefined;
  }

  async basesOf(owners: readonly Found[]): Promise<Meaning> {
    const bases = (await Promise.all(owners.map((owner) => this.#basesOf(owner)))).flat();
    return bases.length > 0 ? entity(bases) : 'elsewhere';
  }

  #own({ file, definition }: Found, name: string): Found[] {
    const { index, view } = this.#sources;
    const language = index.languages.of(file);
    if (language === undefined) return [];
    const path = pathOf(definition);
    const isIn = (each: Found['definition']) => each.name === name && each.container === path && each.kind !== 'import';
    const facts = index.structures.known(file, language)?.facts;
    const own = (facts?.definitions ?? []).filter(isIn).map((each) => ({ file, definition: each }));
    if (own.length > 0 || !(BY_FOLDER.has(language) || ANYWHERE.has(language))) return own;
    return definedHere(index, view, name).filter((found) => {
      const other = index.languages.of(found.file);
      const isNear = ANYWHERE.has(language) || dirname(found.file.path) === dirname(file.path);
      return isIn(found.definition) && isNear && other !== undefined && isRelated(language, other);
    });
  }

  async #basesOf({ file, definition }: Found): Promise<Found[]> {
    const source = await this.#sources.of(file.path);
    if (!source) return [];
    const { lines, text, language } = source;
    const start = lines.index({ line: definition.line, column: 0 });
    const body = text.slice(start, lines.index({ line: definition.endLine, column: definition.endColumn }));
    const named = basesOf(definition.signature, body, language);
    const place = { source, name: '', line: definition.line, index: start };
    const meanings = await Promise.all(named.slice(0, MOST_BASES).map((name) => this.#evaluate(place, name)));
    const classes = meanings.flatMap((meaning) => (typeof meaning === 'string' ? [] : meaning.definitions));
    return classes.filter((each) => isClass(each.definition));
  }
}

function keyOf({ file, definition }: Found): string {
  return `${file.path}:${definition.line}:${definition.column}`;
}
