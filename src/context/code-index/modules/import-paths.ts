import { dirname, join, normalize } from 'node:path';
import type { Language } from '../../lang/contract.ts';
import type { CodeIndex } from '../code-index.ts';
import type { View } from '../tree/view.ts';
import { GoPackages } from './go-packages.ts';
import { PythonModules } from './python-modules.ts';
import { ScriptModules } from './script-modules.ts';
import { ViewPaths } from './view-paths.ts';

/** A manifest or a configuration: longer ones are no such thing. */
const MAX_BYTES = 1024 * 1024;
/** Headers of the languages' own libraries. Facts do not tell `<math.h>` from `"math.h"`. */
const OWN_HEADERS =
  /^(assert|complex|ctype|dirent|errno|fcntl|fenv|float|inttypes|limits|locale|math|memory|pthread|setjmp|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings|time|unistd|wchar|wctype)\.h$/;
const RUBY_ROOT = /(^|\/)(lib|app\/[^/]+)$/;

type Resolve = (from: string, source: string) => string[];

/** Finds the files of this worktree that an import means, by the rules of its language. None: a package from outside, or a form we do not know. */
export class ImportPaths {
  readonly #paths: ViewPaths;
  readonly #scripts: ScriptModules;
  readonly #python: PythonModules;
  readonly #go: GoPackages;

  constructor({ tree }: Pick<CodeIndex, 'tree'>, view: View) {
    this.#paths = new ViewPaths(view, (path) => tree.read(path, undefined, MAX_BYTES)?.bytes);
    this.#scripts = new ScriptModules(this.#paths);
    this.#python = new PythonModules(this.#paths);
    this.#go = new GoPackages(this.#paths);
  }

  resolve(from: string, language: string, source: string): string[] {
    const resolve = this.#rules[language as Language];
    return resolve ? resolve(from, source).filter((path) => path !== from) : [];
  }

  /** The module that a name taken from a package means: Python's `from package import module`. */
  module(from: string, language: string, { source, name }: { source: string; name: string }): string[] {
    if (language !== 'python') return [];
    return this.resolve(from, language, source.endsWith('.') ? source + name : `${source}.${name}`);
  }

  readonly #rules: Partial<Record<Language, Resolve>> = {
    typescript: (from, source) => this.#scripts.resolve(from, source),
    tsx: (from, source) => this.#scripts.resolve(from, source),
    javascript: (from, source) => this.#scripts.resolve(from, source),
    python: (from, source) => this.#python.resolve(from, source),
    go: (_, source) => this.#go.resolve(source),
    java: (_, source) => this.#paths.endingWith(`${source.replaceAll('.', '/')}.java`),
    kotlin: (_, source) => this.#paths.endingWith(`${source.replaceAll('.', '/')}.kt`),
    scala: (_, source) => this.#paths.endingWith(`${source.replaceAll('.', '/')}.scala`),
    rust: (from, source) => this.#rust(from, source),
    c: (from, source) => this.#include(from, source),
    cpp: (from, source) => this.#include(from, source),
    objc: (from, source) => this.#include(from, source),
    php: (_, source) => [`${source.replaceAll('\\', '/')}.php`, source].flatMap((end) => this.#paths.endingWith(end)),
    ruby: (from, source) => this.#ruby(from, source.endsWith('.rb') ? source : `${source}.rb`),
    bash: (from, source) => this.#include(from, source),
  };

  #rust(from: string, source: string): string[] {
    const parts = source.split('::').filter((part) => !['crate', 'self', 'super', '*'].includes(part));
    if (['std', 'core', 'alloc'].includes(parts[0] ?? '')) return [];
    for (let length = parts.length; length > 0; length--) {
      const path = parts.slice(0, length).join('/');
      const found = [`src/${path}.rs`, `src/${path}/mod.rs`].flatMap((end) => this.#paths.endingWith(end));
      const beside = this.#paths.first([join(dirname(from), `${path}.rs`), join(dirname(from), path, 'mod.rs')]);
      if (beside.length + found.length > 0) return [...beside, ...found];
    }
    return [];
  }

  #include(from: string, source: string): string[] {
    if (OWN_HEADERS.test(source)) return [];
    const beside = this.#paths.first([normalize(join(dirname(from), source))]);
    return beside.length > 0 ? beside : this.#paths.endingWith(source);
  }

  /** `require` looks below the folders of sources, `require_relative` beside the file. */
  #ruby(from: string, source: string): string[] {
    const beside = this.#paths.first([normalize(join(dirname(from), source))]);
    if (beside.length > 0) return beside;
    const rootOf = (path: string) => path.slice(0, -normalize(source).length).replace(/\/$/, '');
    return this.#paths.endingWith(source).filter((path) => rootOf(path) === '' || RUBY_ROOT.test(rootOf(path)));
  }
}
