import { dirname } from 'node:path';
import type { ViewPaths } from './view-paths.ts';

interface Module {
  path: string;
  folder: string;
}

/** Which files `import "host/module/package"` means: those of the folder that go.mod gives the path. */
export class GoPackages {
  readonly #paths: ViewPaths;
  #modules: Module[] | undefined;
  #folders: Map<string, string[]> | undefined;

  constructor(paths: ViewPaths) {
    this.#paths = paths;
  }

  resolve(source: string): string[] {
    const modules = this.#allModules();
    const own = modules.find(({ path }) => source === path || source.startsWith(`${path}/`));
    if (own) return this.#files(joined(own.folder, source.slice(own.path.length + 1)));
    const vendored = this.#files(`vendor/${source}`);
    if (vendored.length > 0 || modules.length > 0) return vendored;
    // Without go.mod the host and the name of the repository come before the folder. A path without a host is of Go's own library.
    const [host = '', ...rest] = source.split('/');
    if (!host.includes('.')) return [];
    const from = rest.findIndex((_, at) => this.#files(rest.slice(at).join('/')).length > 0);
    return from === -1 ? [] : this.#files(rest.slice(from).join('/'));
  }

  /** The name by which the package is used, unless the import gives another: its last part that is no version. */
  static nameOf(source: string): string {
    const parts = source.split('/').filter((part) => !/^v\d+$/.test(part));
    return (parts.at(-1) ?? '').replace(/\.v\d+$/, '').replace(/^go-|-go$/, '');
  }

  #files(folder: string): string[] {
    const isImportable = (path: string) => path.endsWith('.go') && !path.endsWith('_test.go');
    this.#folders ??= Map.groupBy(this.#paths.all.filter(isImportable), (path) => dirname(path));
    return this.#folders.get(folder === '' ? '.' : folder) ?? [];
  }

  /** The longest path first: a module may lie inside another. */
  #allModules(): Module[] {
    this.#modules ??= this.#paths
      .named('go.mod')
      .flatMap((file) => {
        const [, path] = /^[ \t]*module[ \t]+"?([^\s"]+)/m.exec(this.#paths.text(file)) ?? [];
        return path === undefined ? [] : [{ path, folder: dirname(file) === '.' ? '' : dirname(file) }];
      })
      .sort((a, b) => b.path.length - a.path.length);
    return this.#modules;
  }
}

function joined(folder: string, rest: string): string {
  return [folder, rest].filter(Boolean).join('/');
}
