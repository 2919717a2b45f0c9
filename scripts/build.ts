/** Builds what a package holds in place of the sources: Node strips no types below `node_modules` (docs/decisions/0013). */
import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'rolldown';
import { isTest, ROOT, sourceFiles } from '../test/source-files.ts';

const DIST = join(ROOT, 'dist');

const FILE_OF_SOURCE = /new URL\('([^']+\.ts)', import\.meta\.url\)|import\.meta\.(\w+)/g;

/**
 * What is found beside its source is found there still: a package keeps the data files of src in their places, and has a
 * program where the source of one is asked for. All that is built lies two folders below the root.
 */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: 'import.meta' },
    handler: (code, id) =>
      code.replace(FILE_OF_SOURCE, (_, source: string | undefined, property: string) => {
        if (source !== undefined)
          return `new URL('../programs/${programOf(join(dirname(id), source))}.js', import.meta.url)`;
        if (property === 'url') return `new URL('../../${relative(ROOT, id)}', import.meta.url).href`;
        throw new Error(`${id}: find files by import.meta.url, not import.meta.${property}`);
      }),
  },
};

const REQUIRED = /^(?:const|let) (\w+) = require\("([^"]+)"\);\n(\1 = .*__toESM\(\1, 1\);\n)?/gm;

/** Moves each `require` to where something is taken out of it: a file is read when it is used, not when it may be. */
const lateRequires: Plugin = {
  name: 'late-requires',
  renderChunk: (code) =>
    [...code.matchAll(REQUIRED)].reduce((late, [lines, name, path, hasDefault]) => {
      const use = new RegExp(`\\b${name}\\.${hasDefault === undefined ? '' : 'default\\.'}`, 'g');
      return path?.includes('rolldown-runtime') ? late : late.replace(lines, '').replace(use, `(require("${path}")).`);
    }, code),
};

/** `src/context/server/main.ts` becomes `context-server-main`. */
function programOf(source: string): string {
  return relative(join(ROOT, 'src'), source).replaceAll('/', '-').replace(/\.ts$/, '');
}

/** A file for each file of ours, and one for each package. */
function chunkOf(id: string): string {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
  if (name !== undefined) return `package-${name.replace('/', '-')}`;
  return id.startsWith(join(ROOT, 'src')) ? programOf(id) : basename(id, '.json');
}

/** Whatever a source starts by the name of its file. */
function programs(): Record<string, string> {
  const sources = sourceFiles('src').filter((path) => !isTest(path) && !path.includes('/testing/'));
  const started = sources.flatMap((path) => {
    const found = readFileSync(join(ROOT, path), 'utf8').matchAll(FILE_OF_SOURCE);
    return [...found].flatMap(([, source]) => (source === undefined ? [] : [join(ROOT, dirname(path), source)]));
  });
  return Object.fromEntries(started.map((source) => [programOf(source), source]));
}

const shared: BuildOptions = {
  cwd: ROOT,
  platform: 'node',
  // Native code, WASM and megabytes of vocabulary stay in the packages they come in.
  external: [/^better-sqlite3$/, /^web-tree-sitter/, /tree-sitter-/, /^gpt-tokenizer/, /^unpdf$/],
};

rmSync(DIST, { recursive: true, force: true });
// Every command pays for the start of the command line. CommonJS starts faster: it can be read as late as it is needed, and
// has no facade over each module of Node.
await build({
  ...shared,
  plugins: [places, lateRequires],
  input: { main: 'src/main.ts' },
  preserveEntrySignatures: 'allow-extension',
  output: {
    dir: join(DIST, 'cli'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: chunkOf, debugName: 'files' }] },
  },
});
await build({
  ...shared,
  plugins: [places],
  input: programs(),
  output: {
    dir: join(DIST, 'programs'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  },
});
