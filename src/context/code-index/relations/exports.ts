import type { FileFacts, ImportFact, Language } from '../../lang/contract.ts';
import { GoPackages } from '../modules/go-packages.ts';
import type { ImportPaths } from '../modules/import-paths.ts';
import type { Found } from '../query/definitions.ts';
import { type Entity, entity, modulesEntity } from './meaning.ts';
import { type Source, type Sources, topLevel } from './sources.ts';

interface Taking {
  fact: ImportFact;
  /** As the module calls it; `*` is the module itself, `default` its main value. */
  name: string;
}

/** Barrels of barrels. */
const DEEPEST = 6;
const MAIN =
  /\bexport\s+default\s+(?:async\s+)?(?:function\*?\s+|class\s+|new\s+)?([\w$]+)|\bmodule\.exports\s*=\s*(?:class\s+|(?:async\s+)?function\*?\s+|new\s+)?([\w$]+)/;

/** What a module gives to others, also what it only hands on. */
export class Exports {
  readonly #sources: Sources;
  readonly #imports: ImportPaths;

  constructor(sources: Sources, imports: ImportPaths) {
    this.#sources = sources;
    this.#imports = imports;
  }

  async taken(from: string, language: Language, { fact, name }: Taking): Promise<Entity> {
    const paths = this.#imports.resolve(from, language, fact.source);
    if (name === '*') return modulesEntity(paths);
    if (name === 'default' && paths.length > 0) return this.main(paths);
    const found = await this.#named(paths, name, DEEPEST);
    // Java and Kotlin import the class itself: the last part of the source is its name.
    const modules = found.length > 0 ? [] : this.#imports.module(from, language, { source: fact.source, name });
    return modules.length > 0 ? modulesEntity(modules) : entity(found);
  }

  /** What an import without names brings all the same: a header, `from a import *`, a class by its path. */
  async broughtWhole(source: Source, { fact, name }: Taking): Promise<Found[]> {
    const { file, language } = source;
    const isNamed = fact.names.length > 0 && !fact.names.some((each) => each.name === '*' && each.alias === undefined);
    if (isNamed || language === 'go' || isScript(language) || !isWhole(source, fact)) return [];
    return this.#named(this.#imports.resolve(file.path, language, fact.source), name, DEEPEST);
  }

  async ofModules(modules: readonly string[], name: string): Promise<Entity | undefined> {
    const found = await this.#named(modules, name, DEEPEST);
    if (found.length > 0) return entity(found);
    const inner = modules
      .filter((path) => path.endsWith('/__init__.py'))
      .flatMap((path) => this.#imports.module(path, 'python', { source: '.', name }));
    return inner.length > 0 ? modulesEntity(inner) : undefined;
  }

  /** What a module is when it is taken as a whole: its default export, or what `module.exports` is set to. */
  async main(modules: readonly string[]): Promise<Entity> {
    const found: Found[] = [];
    for (const path of modules) {
      const source = await this.#sources.of(path);
      const [, byDefault, byModule] = source ? (MAIN.exec(source.text) ?? []) : [];
      const name = byDefault ?? byModule;
      if (source && name !== undefined) found.push(...(await this.#named([path], name, DEEPEST)));
    }
    return entity(found);
  }

  async #named(paths: readonly string[], name: string, depth: number): Promise<Found[]> {
    const found: Found[] = [];
    for (const path of paths) {
      const file = this.#sources.view.files.get(path);
      const facts = await this.#sources.facts(path);
      if (!file || !facts) continue;
      const own = topLevel(facts, name).map((definition) => ({ file, definition }));
      found.push(...(own.length > 0 ? own : await this.#handedOn(path, { facts, name, depth })));
    }
    return found;
  }

  /** `export { a } from './a'`, `export * from './a'`, and what a Python package imports. */
  async #handedOn(
    path: string,
    { facts, name, depth }: { facts: FileFacts; name: string; depth: number },
  ): Promise<Found[]> {
    const file = this.#sources.view.files.get(path);
    const language = file && this.#sources.index.languages.of(file);
    if (depth === 0 || language === undefined || language === 'go') return [];
    const named = facts.imports.flatMap((fact) => {
      const taking = fact.names.find((each) => (each.alias ?? each.name) === name && each.name !== '*');
      return taking ? [{ fact, name: taking.name }] : [];
    });
    const bare = facts.imports.filter(({ names }) => names.length === 0);
    const source = bare.length > 0 ? await this.#sources.of(path) : undefined;
    const whole = bare.filter((fact) => source && isWhole(source, fact)).map((fact) => ({ fact, name }));
    for (const { fact, name: inner } of [...named, ...whole]) {
      const paths = this.#imports.resolve(path, language, fact.source);
      const main = inner === 'default' ? await this.main(paths) : undefined;
      const found = main?.definitions ?? (await this.#named(paths, inner, depth - 1));
      if (found.length > 0) return [...found];
    }
    return [];
  }
}

/** The module that an import without names binds to this name: Go's package, the first part of Python's `import a.b`. */
export function moduleBoundBy(fact: ImportFact, language: Language, name: string): string | undefined {
  if (fact.names.length > 0) return undefined;
  if (language === 'python') return fact.source.split('.')[0] === name ? name : undefined;
  const isNamed =
    language === 'go' && (GoPackages.nameOf(fact.source) === name || fact.source.split('/').at(-1) === name);
  return isNamed ? fact.source : undefined;
}

function isScript(language: Language): boolean {
  return language === 'typescript' || language === 'tsx' || language === 'javascript';
}

/** An import without names brings everything, hands everything on, or only runs a module: the line says which. */
function isWhole({ text, lines, language }: Source, { line }: ImportFact): boolean {
  if (language !== 'python' && !isScript(language)) return true;
  const start = lines.index({ line, column: 0 });
  const written = text.slice(start, lines.lineEnd(start));
  return language === 'python' ? written.includes('*') : /^\s*export\b|\*/.test(written);
}
