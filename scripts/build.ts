/** Builds what a package holds in place of the sources: Node strips no types below `node_modules` (docs/decisions/0013). */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
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

const REQUIRED = /^(?:const|let) (\w+) = (require\("[^"]+"\));\n(\1 = .*__toESM\(\1, 1\);\n)?/gm;
/** What a package in CommonJS exports. */
const TAKEN = /^var (import_\w+) = (require_\w+\.require_\w+\(\));\n/gm;

/** Makes each `require` wait until something is taken out of it: a file is read when it is used, not when it may be. */
const lateRequires: Plugin = {
  name: 'late-requires',
  renderChunk: (code) => [TAKEN, REQUIRED].reduce(waitFor, code),
};

function waitFor(code: string, declared: RegExp): string {
  return [...code.matchAll(declared)].reduce((late, [lines, name, made, hasDefault]) => {
    if (made?.includes('rolldown-runtime')) return late;
    const word = `\\b${name}(?![\\w$])`;
    // The default of what is no ES module is all of it.
    const use = new RegExp(hasDefault === undefined ? `${word}(?=\\.)` : `${word}(?:\\.default\\b)?`, 'g');
    const rest = late.replace(lines, () => '').replace(use, `(${name}())`);
    const early = new RegExp(`.*${word}(?!\\(\\)\\)).*`).exec(rest);
    if (early) throw new Error(`${name} is not taken out of what waits: ${early[0]}`);
    return `let ${name}$;\nconst ${name} = () => (${name}$ ??= ${made});\n${rest}`;
  }, code);
}

/** `src/context/server/main.ts` becomes `context-server-main`. */
function programOf(source: string): string {
  return relative(join(ROOT, 'src'), source).replaceAll('/', '-').replace(/\.ts$/, '');
}

const packageOf = (id: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];

/** A file for each file of ours, so that each is read by itself; one for each package. */
function chunkOf(id: string): string {
  const name = packageOf(id);
  if (name !== undefined) return `package-${name.replace('/', '-')}`;
  return relative(ROOT, id)
    .replace(/\.\w+$/, '')
    .replaceAll('/', '-');
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
const { output } = await build({
  ...shared,
  plugins: [places, lateRequires],
  input: { main: 'src/main.ts' },
  preserveEntrySignatures: 'allow-extension',
  // No file of ours does anything by being read.
  treeshake: { moduleSideEffects: (id) => packageOf(id) !== undefined || id.endsWith('/main.ts') },
  output: {
    dir: join(DIST, 'cli'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: chunkOf, debugName: 'files' }] },
  },
});
const sources = output.flatMap((file) => (file.type === 'chunk' ? [file.fileName, file.code] : []));
writeFileSync(join(DIST, 'cli/id'), createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 16));
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
