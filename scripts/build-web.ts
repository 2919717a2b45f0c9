/** Builds the page of `web/` into `dist/web`. With `--if-older`, only when a source is newer than what was built. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'rolldown';
import { ROOT } from '../test/support/source-files.ts';

const WEB = join(ROOT, 'web');
const DIST = join(ROOT, 'dist/web');
const ASSETS = join(DIST, 'assets');

const filesOf = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** A file that says by its name what is in it may be kept by a browser for good. */
function writeAsset(name: string, extension: string, content: string): string {
  const file = `${name}-${createHash('sha256').update(content).digest('hex').slice(0, 10)}.${extension}`;
  writeFileSync(join(ASSETS, file), content);
  return file;
}

/** Comments and indentation are for those who read the sources. */
function smaller(css: string): string {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/\s+/g, ' ')
    .replace(/ ?([{};,]) ?/g, '$1')
    .trim();
}

/** Answers with the packages' modules that went into it. */
export async function buildWeb(): Promise<string[]> {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(ASSETS, { recursive: true });
  const { output } = await build({
    cwd: ROOT,
    platform: 'browser',
    input: { main: 'web/src/main.tsx' },
    // The list says to servers that it is for browsers, which everything here is.
    checks: { moduleLevelDirective: false },
    // The list for long timelines is made for React; preact has the same faces.
    resolve: {
      alias: { react: 'preact/compat', 'react-dom': 'preact/compat', 'react/jsx-runtime': 'preact/jsx-runtime' },
    },
    output: {
      dir: ASSETS,
      format: 'esm',
      minify: true,
      entryFileNames: '[name]-[hash].js',
      chunkFileNames: '[name]-[hash].js',
    },
  });
  const chunks = output.filter((file) => file.type === 'chunk');
  const css = filesOf(join(WEB, 'src')).filter((file) => file.endsWith('.css'));
  // The file that names the layers comes first; after that the layers decide, not the order.
  const inOrder = css.toSorted((a, b) => Number(b.includes('/styles/')) - Number(a.includes('/styles/')));
  const names: Record<string, string> = {
    main: chunks.find(({ isEntry }) => isEntry)?.fileName ?? '',
    style: writeAsset('style', 'css', smaller(inOrder.map((file) => readFileSync(file, 'utf8')).join('\n'))),
    icon: writeAsset('icon', 'svg', readFileSync(join(WEB, 'icon.svg'), 'utf8')),
  };
  const html = readFileSync(join(WEB, 'index.html'), 'utf8').replace(
    /%(\w+)%/g,
    (_, name: string) => names[name] ?? '',
  );
  writeFileSync(join(DIST, 'index.html'), html);
  return chunks.flatMap(({ moduleIds }) => moduleIds);
}

function isOlder(): boolean {
  const builtAt = statSync(join(DIST, 'index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = [...filesOf(WEB), ...filesOf(join(ROOT, 'src/protocol')), import.meta.filename];
  return sources.some((file) => statSync(file).mtimeMs > builtAt);
}

export async function buildWebIfOlder(): Promise<void> {
  if (isOlder()) await buildWeb();
}

if (import.meta.main) await (process.argv.includes('--if-older') ? buildWebIfOlder() : buildWeb());
