import { isBuiltin } from 'node:module';
import { dirname, join, normalize } from 'node:path';
import { isRecord, type ViewPaths } from './view-paths.ts';

const EXTENSIONS = ['.ts', '.tsx', '.d.ts', '.js', '.jsx', '.mjs', '.cjs', '.mts', '.cts'];
const ENDS = ['', ...EXTENSIONS, ...['.ts', '.tsx', '.js', '.jsx', '.mjs'].map((end) => `/index${end}`)];
const MOST_PACKAGES = 1_000;

interface Aliases {
  folder: string;
  patterns: [pattern: string, targets: string[]][];
  baseUrl: string | undefined;
}

/** Which file a specifier of TypeScript or JavaScript means: a path, an alias of tsconfig, or a package of this repository. */
export class ScriptModules {
  readonly #paths: ViewPaths;
  readonly #aliases = new Map<string, Aliases | undefined>();
  #packages: Map<string, string> | undefined;

  constructor(paths: ViewPaths) {
    this.#paths = paths;
  }

  resolve(from: string, source: string): string[] {
    if (/^\.{1,2}(\/|$)/.test(source)) return this.#file(join(dirname(from), source));
    if (source.startsWith('/') || isBuiltin(source)) return [];
    const aliased = this.#byAlias(from, source);
    if (aliased.length > 0) return aliased;
    if (/^[@~]\//.test(source)) return this.#bySourceFolder(from, source.slice(2));
    return source.startsWith('#') ? this.#byPackageImports(from, source) : this.#byPackage(source);
  }

  #file(path: string): string[] {
    const base = normalize(path).replace(/\/$/, '');
    const bare = base.replace(/\.(js|jsx|mjs|cjs)$/, '');
    const paths = bare === base ? [base] : [base, bare];
    return this.#paths.first(paths.flatMap((each) => ENDS.map((end) => (each === '.' ? end.slice(1) : each + end))));
  }

  /** `paths` and `baseUrl` of the nearest tsconfig.json that has them. */
  #byAlias(from: string, source: string): string[] {
    for (const folder of foldersAbove(from)) {
      const aliases = this.#aliasesOf(folder);
      if (!aliases) continue;
      for (const [pattern, targets] of aliases.patterns) {
        const middle = matched(pattern, source);
        if (middle === undefined) continue;
        const found = targets.flatMap((target) =>
          this.#file(
            join(
              folder,
              aliases.baseUrl ?? '',
              target.replace('*', () => middle),
            ),
          ),
        );
        if (found.length > 0) return found.slice(0, 1);
      }
      if (aliases.baseUrl !== undefined) return this.#file(join(folder, aliases.baseUrl, source));
    }
    return [];
  }

  #aliasesOf(folder: string): Aliases | undefined {
    if (!this.#aliases.has(folder)) this.#aliases.set(folder, this.#readAliases(folder));
    return this.#aliases.get(folder);
  }

  #readAliases(folder: string): Aliases | undefined {
    for (const name of ['tsconfig.json', 'jsconfig.json', 'tsconfig.base.json']) {
      const file = join(folder, name);
      const options = this.#paths.has(file) ? this.#paths.json(file)?.compilerOptions : undefined;
      if (!isRecord(options)) continue;
      const patterns = Object.entries(isRecord(options.paths) ? options.paths : {}).map(
        ([pattern, targets]): [string, string[]] => [pattern, strings(targets)],
      );
      const baseUrl = typeof options.baseUrl === 'string' ? options.baseUrl : undefined;
      if (patterns.length > 0 || baseUrl !== undefined) return { folder, patterns, baseUrl };
    }
    return undefined;
  }

  /** What `@/` and `~/` mean where no configuration says it. */
  #bySourceFolder(from: string, rest: string): string[] {
    for (const folder of foldersAbove(from)) {
      const found = [join(folder, 'src', rest), join(folder, rest)].flatMap((path) => this.#file(path));
      if (found.length > 0) return found.slice(0, 1);
    }
    return [];
  }

  #byPackageImports(from: string, source: string): string[] {
    for (const folder of foldersAbove(from)) {
      const { imports } = this.#packageIn(folder) ?? {};
      if (!isRecord(imports)) continue;
      for (const [pattern, target] of Object.entries(imports)) {
        const middle = matched(pattern, source);
        const path = middle === undefined ? undefined : targetOf(target)?.replace('*', () => middle);
        const found = path === undefined ? [] : this.#file(join(folder, path));
        if (found.length > 0) return found;
      }
      return [];
    }
    return [];
  }

  #byPackage(source: string): string[] {
    const [, name = '', rest = ''] = /^((?:@[^/]+\/)?[^/]+)\/?(.*)$/.exec(source) ?? [];
    const folder = this.#allPackages().get(name);
    if (folder === undefined) return [];
    const described = this.#packageIn(folder) ?? {};
    const exported = isRecord(described.exports) ? described.exports[rest === '' ? '.' : `./${rest}`] : undefined;
    const said = [targetOf(exported), ...(rest === '' ? [described.source, described.main, described.module] : [])];
    const guessed =
      rest === '' ? ['src/index', 'index', 'lib/index', 'src/main'] : [rest, `src/${rest}`, `lib/${rest}`];
    const tried = [...said.filter((each) => typeof each === 'string'), ...guessed];
    return tried.flatMap((path) => this.#file(join(folder, path))).slice(0, 1);
  }

  #packageIn(folder: string): Record<string, unknown> | undefined {
    const file = join(folder, 'package.json');
    return this.#paths.has(file) ? this.#paths.json(file) : undefined;
  }

  /** The packages of this repository by name. A name that two have means neither. */
  #allPackages(): ReadonlyMap<string, string> {
    if (this.#packages) return this.#packages;
    const packages = new Map<string, string>();
    const twice = new Set<string>();
    const files = this.#paths.named('package.json').filter((file) => !file.includes('node_modules/'));
    for (const file of files.slice(0, MOST_PACKAGES)) {
      const name = this.#paths.json(file)?.name;
      if (typeof name !== 'string') continue;
      if (packages.has(name)) twice.add(name);
      packages.set(name, dirname(file));
    }
    for (const name of twice) packages.delete(name);
    this.#packages = packages;
    return packages;
  }
}

/** From the folder of a file up to the root. */
function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.push(folder);
  return [...folders, ''];
}

/** What the star of a pattern stands for. Undefined: it does not match. */
function matched(pattern: string, source: string): string | undefined {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return pattern === source ? '' : undefined;
  const fits = source.startsWith(before) && source.endsWith(after) && source.length >= before.length + after.length;
  return fits ? source.slice(before.length, source.length - after.length) : undefined;
}

/** The path of an entry of `exports` or `imports`: a text, or the first of its conditions. */
function targetOf(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (!isRecord(entry)) return undefined;
  const named = ['source', 'import', 'default', 'types', 'require'].map((condition) => entry[condition]);
  for (const each of named) {
    const target = targetOf(each);
    if (target !== undefined) return target;
  }
  return undefined;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
