import { dirname, join, normalize } from 'node:path';
import type { Language } from '../../lang/contract.ts';
import type { View } from '../tree/view.ts';

const SCRIPT_EXTENSIONS = ['.ts', '.tsx', '.d.ts', '.js', '.jsx', '.mjs', '.cjs', '.mts', '.cts'];
const SCRIPT_ENDS = [...SCRIPT_EXTENSIONS, '/index.ts', '/index.tsx', '/index.js'];
/** Where a package begins in a tree is not known, so a module path is matched by its end. */
const MOST_BY_END = 20;

type Resolve = (from: string, source: string) => string[];

/** Finds the files of this worktree that an import may mean. None: a package from outside, or a form we do not know. */
export class ImportPaths {
  readonly #view: View;
  #byName: Map<string, string[]> | undefined;
  #folders: Map<string, string[]> | undefined;

  constructor(view: View) {
    this.#view = view;
  }

  resolve(from: string, language: string, source: string): string[] {
    const resolve = this.#rules[language as Language];
    return resolve ? resolve(from, source).filter((path) => path !== from) : [];
  }

  readonly #rules: Partial<Record<Language, Resolve>> = {
    typescript: (from, source) => this.#script(from, source),
    tsx: (from, source) => this.#script(from, source),
    javascript: (from, source) => this.#script(from, source),
    python: (from, source) => this.#python(from, source),
    go: (_, source) => this.#folder(source),
    java: (_, source) => this.#byEnd([`${source.replaceAll('.', '/')}.java`]),
    kotlin: (_, source) => this.#byEnd([`${source.replaceAll('.', '/')}.kt`]),
    scala: (_, source) => this.#byEnd([`${source.replaceAll('.', '/')}.scala`]),
    rust: (from, source) => this.#rust(from, source),
    c: (from, source) => this.#include(from, source),
    cpp: (from, source) => this.#include(from, source),
    objc: (from, source) => this.#include(from, source),
    php: (_, source) => this.#byEnd([`${source.replaceAll('\\', '/')}.php`, source]),
    ruby: (from, source) => this.#include(from, source.endsWith('.rb') ? source : `${source}.rb`),
    bash: (from, source) => this.#include(from, source),
  };

  #script(from: string, source: string): string[] {
    const withEnds = (path: string) => SCRIPT_ENDS.map((end) => `${path}${end}`);
    if (!source.startsWith('.')) return this.#byEnd(withEnds(source.replace(/^[@~]\//, '')));
    const base = normalize(join(dirname(from), source));
    return this.#first([base, ...withEnds(base), ...withEnds(base.replace(/\.(js|jsx|mjs|cjs)$/, ''))]);
  }

  #python(from: string, source: string): string[] {
    const [, dots = '', rest = ''] = /^(\.*)(.*)$/.exec(source) ?? [];
    const path = rest.replaceAll('.', '/');
    if (dots === '') return this.#byEnd([`${path}.py`, `${path}/__init__.py`, `${path}.pyi`]);
    const base = join(dirname(from), '../'.repeat(dots.length - 1), path);
    return this.#first([`${base}.py`, `${base}/__init__.py`]);
  }

  #rust(from: string, source: string): string[] {
    const parts = source.split('::').filter((part) => !['crate', 'self', 'super', '*'].includes(part));
    for (let length = parts.length; length > 0; length--) {
      const path = parts.slice(0, length).join('/');
      const found = this.#byEnd([`src/${path}.rs`, `src/${path}/mod.rs`]);
      const beside = this.#first([join(dirname(from), `${path}.rs`), join(dirname(from), path, 'mod.rs')]);
      if (beside.length + found.length > 0) return [...beside, ...found];
    }
    return [];
  }

  #include(from: string, source: string): string[] {
    const beside = this.#first([normalize(join(dirname(from), source))]);
    return beside.length > 0 ? beside : this.#byEnd([source]);
  }

  #first(paths: readonly string[]): string[] {
    const found = paths.find((path) => this.#view.files.has(path));
    return found === undefined ? [] : [found];
  }

  /** Files whose path ends with one of these, by whole names. */
  #byEnd(ends: readonly string[]): string[] {
    this.#byName ??= Map.groupBy(this.#view.paths, nameOf);
    const byName = this.#byName;
    return ends.flatMap((end) => {
      const clean = normalize(end);
      const alike = byName.get(nameOf(clean)) ?? [];
      return alike.filter((path) => path === clean || path.endsWith(`/${clean}`)).slice(0, MOST_BY_END);
    });
  }

  /** All files of the folder that a Go package path ends in. */
  #folder(source: string): string[] {
    const isGo = (path: string) => path.endsWith('.go');
    this.#folders ??= Map.groupBy(this.#view.paths.filter(isGo), (path) => dirname(path));
    const parts = source.split('/');
    for (let from = 0; from < parts.length; from++) {
      const found = this.#folders.get(parts.slice(from).join('/'));
      if (found) return found;
    }
    return [];
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
