/** Builds what a package holds in place of the sources: Node strips no types below `node_modules` (docs/decisions/0013). */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'rolldown';
import { isTest, ROOT, sourceFiles } from '../test/support/source-files.ts';
import { buildWeb } from './build-web.ts';

const DIST = join(ROOT, 'dist');
const PACKAGES = join(ROOT, 'node_modules');

/** A program or the folder of packages that a source names by its own address, or another use of that address. */
const FILE_OF_SOURCE = /new URL\('([^']+(?:\.ts|node_modules\/))', import\.meta\.url\)|import\.meta\.(\w+)/g;

/**
 * Redirects what a source finds by its own address. The data files of src keep their paths in the package; a program's
 * source becomes the built program, and node_modules the folder of copied grammars. Every built file lies two folders
 * below the root.
 */
const redirects: Plugin = {
  name: 'redirects',
  transform: {
    filter: { id: /\/src\/.*\.ts$/, code: 'import.meta' },
    handler: (code, id) =>
      code.replace(FILE_OF_SOURCE, (_, source: string | undefined, property: string) => {
        if (source?.endsWith('/')) return `new URL('../grammars/', import.meta.url)`;
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

/** Every source that another one starts as a program. */
function programs(): Record<string, string> {
  const sources = sourceFiles('src').filter((path) => !isTest(path));
  const started = sources.flatMap((path) => {
    const found = readFileSync(join(ROOT, path), 'utf8').matchAll(FILE_OF_SOURCE);
    return [...found].flatMap(([, source]) => (source?.endsWith('.ts') ? [join(ROOT, dirname(path), source)] : []));
  });
  return Object.fromEntries(started.map((source) => [programOf(source), source]));
}

/** Copies the grammars, and nothing else of their packages: the rest is 500 MB of parser sources and native builds. */
function copyGrammars(): string[] {
  const source = readFileSync(join(ROOT, 'src/context/lang/grammars.ts'), 'utf8');
  const files = [...source.matchAll(/'([^']+\.wasm)'/g)].map(([, file = '']) => file);
  for (const file of files) {
    const copy = join(DIST, 'grammars', file);
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(join(PACKAGES, file), copy);
  }
  return files.map((file) => packageOf(join(PACKAGES, file)) ?? '');
}

/** What the licences ask for: each package that travels inside ours, with its licence as its authors wrote it. */
function thirdParty(names: string[]): string {
  const entries = [...new Set(names)].sort().map((name) => {
    const dir = join(PACKAGES, name);
    const { version, license } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    const files = readdirSync(dir).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    const texts = files.map((file) => readFileSync(join(dir, file), 'utf8').trim());
    return [`## ${name} ${version} (${license})`, ...texts].join('\n\n');
  });
  return `# Third-party software in this package\n\n${entries.join('\n\n')}\n`;
}

const shared: BuildOptions = {
  cwd: ROOT,
  platform: 'node',
  // Native code stays in the package it comes in; what only a fleet needs is installed by those who have one.
  external: [/^better-sqlite3$/, /^pg$/, /^@dbos-inc\//],
  // web-tree-sitter evaluates code for grammars that carry JavaScript; ours carry none.
  checks: { eval: false },
};

rmSync(DIST, { recursive: true, force: true });
// Every command pays for the start of the command line. CommonJS starts faster: it can be read as late as it is needed, and
// has no facade over each module of Node.
const { output } = await build({
  ...shared,
  plugins: [redirects, lateRequires],
  input: { reef: 'src/programs/reef.ts' },
  preserveEntrySignatures: 'allow-extension',
  // No file of ours does anything by being read.
  treeshake: { moduleSideEffects: (id) => packageOf(id) !== undefined || id.endsWith('/programs/reef.ts') },
  output: {
    dir: join(DIST, 'cli'),
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: chunkOf, debugName: 'files' }] },
  },
});
const cli = output.filter((file) => file.type === 'chunk');
const sources = cli.flatMap(({ fileName, code }) => [fileName, code]);
writeFileSync(join(DIST, 'cli/id'), createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 16));
const built = await build({
  ...shared,
  plugins: [redirects],
  input: programs(),
  output: {
    dir: join(DIST, 'programs'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  },
});
const modules = [...cli, ...built.output.filter((file) => file.type === 'chunk')].flatMap(({ moduleIds }) => moduleIds);
const bundled = [...modules, ...(await buildWeb())].flatMap((id) => packageOf(id) ?? []);
writeFileSync(join(DIST, 'THIRD-PARTY.md'), thirdParty([...bundled, ...copyGrammars()]));
